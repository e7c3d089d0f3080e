// Package app builds, runs and stops a hub. It is separate from package main, which
// hubtest could not import.
package app
