package cli

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// machineDir returns the directory of the policy of the machine. It is in the directory of
// programs, since every user can create directories in ProgramData. The path is from Windows, not
// from a variable.
func machineDir() (string, error) {
	programs, err := windows.KnownFolderPath(windows.FOLDERID_ProgramFiles, windows.KF_FLAG_DEFAULT)
	if err != nil {
		return "", err
	}
	return filepath.Join(programs, configDirectory), nil
}
