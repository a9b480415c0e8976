//go:build !windows

package cli

// machineDir returns the directory of the policy of the machine. It belongs to root.
func machineDir() (string, error) { return "/etc/krmcat", nil }
