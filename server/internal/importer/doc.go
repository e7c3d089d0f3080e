// Package importer is hookback import: it reads the transcripts of sessions that a coding agent kept
// before its hooks were installed, and sends one event for each session. It runs on the machine of the
// agent and uses the hub as any other client does.
package importer
