package files

// Kptfile is the name of the file that makes a directory a kpt package.
const Kptfile = "Kptfile"

// ignoreFile is the name of the file that names what of a package is not read.
const ignoreFile = ".krmignore"

// Packages says what becomes of a directory with a Kptfile below the one that is read.
type Packages int

// What becomes of packages below the directory.
const (
	// Plain reads them as other directories: only the topmost .krmignore counts.
	Plain Packages = iota
	// Nested reads them, each with a .krmignore of its own that alone counts in it.
	Nested
	// Kept is Nested, and reads a package that is ignored by the one above it too, as `kpt fn
	// render` does.
	Kept
	// Apart does not read them.
	Apart
)

// Options say which files are read.
type Options struct {
	Kptfiles bool // files named Kptfile are resources too, as for kpt
	Packages Packages
	Limits   Limits
}

// Limits bound what is read. A zero field stands for the value of DefaultLimits.
type Limits struct {
	File      int64 // bytes of a file
	Total     int64 // bytes of all files
	Entries   int   // files and directories, also those that hold no resources
	Depth     int   // directories inside one another
	Documents int   // of all files
}

// DefaultLimits returns the limits that are used where none is given.
func DefaultLimits() Limits {
	return Limits{File: 64 << 20, Total: 512 << 20, Entries: 500_000, Depth: 100, Documents: 500_000}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	if l.File > 0 {
		d.File = l.File
	}
	if l.Total > 0 {
		d.Total = l.Total
	}
	if l.Entries > 0 {
		d.Entries = l.Entries
	}
	if l.Depth > 0 {
		d.Depth = l.Depth
	}
	if l.Documents > 0 {
		d.Documents = l.Documents
	}
	return d
}
