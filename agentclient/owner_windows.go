package agentclient

import "os"

// checkOwner accepts every file: Windows protects the folders by access control lists.
func checkOwner(*os.File, os.FileMode, ...int) error { return nil }
