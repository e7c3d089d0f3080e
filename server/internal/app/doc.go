// Package app puts a hub together from its packages, runs it and takes it apart
// again. A main package can't be imported, so both main and hubtest go through it.
package app
