// Package account finds the home directory of the account that a process runs as. Except for StateDir, it
// never reads the environment, which an agent can set.
package account

// Home returns the home directory of this process's account. Tests replace it, so that they
// neither read nor write a real home.
var Home = lookUp

// Name returns the name of this process's account, or "". It is a fact for display.
func Name() string { return lookUpName() }
