package source

// Reorder is the order of the resources in the output.
type Reorder string

// The values of `--reorder`. Unspecified is kustomize's default: legacy, unless the
// kustomization has sortOptions.
const (
	ReorderUnspecified Reorder = ""
	ReorderLegacy      Reorder = "legacy"
	ReorderNone        Reorder = "none"
)

// Helm has the options of `kustomize build` about helm.
type Helm struct {
	Enabled     bool
	Command     string // "" for helm
	Path        string // absolute path of Command; if it is "", kustomize looks for it
	Missing     error  // why Command was not found; nil if it was not looked for
	APIVersions []string
	KubeVersion string
	Debug       bool
}

// Options are the options of `kustomize build`.
type Options struct {
	// Executable is krmcat itself, which kustomize calls for a Step.
	Executable string
	// LoadAnywhere turns the load restrictor off: files may be outside the directory of the
	// kustomization.
	LoadAnywhere bool
	Reorder      Reorder
	ManagedBy    bool // --enable-managedby-label
	// Layout asks for the files of the resources of a Composition although it has no functions:
	// the output goes to a directory.
	Layout  bool
	Helm    Helm
	TempDir string // for temporary files; "" for the system's
	// Refused is called with the error about something that a missing flag would permit. It is
	// omitted, unread, and Load continues, so that everything that is refused can be reported. Such
	// a Target must not be built. If Refused is nil, Load fails.
	Refused func(error)
	// Warn is called with warnings about the files that kustomize does not give; may be nil.
	Warn func(Warning)
}

// Warning reports something in the files of a target that is valid, but probably a mistake.
type Warning struct {
	Where string // file or file:line
	Msg   string
}
