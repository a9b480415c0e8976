//go:build !windows

package cli

// machineDir is where the policy of a machine stands: root's, on every such system.
func machineDir() (string, error) { return "/etc/krmcat", nil }
