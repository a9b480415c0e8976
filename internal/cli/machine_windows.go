package cli

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// machineDir is where the policy of a machine stands: where programs are installed, since
// everybody may make a directory in ProgramData. Windows is asked, and not a variable.
func machineDir() (string, error) {
	programs, err := windows.KnownFolderPath(windows.FOLDERID_ProgramFiles, windows.KF_FLAG_DEFAULT)
	if err != nil {
		return "", err
	}
	return filepath.Join(programs, configDirectory), nil
}
