package source

// Reorder is the order of the resources at the end.
type Reorder string

// The values of `--reorder`. Unspecified is kustomize's default: legacy, unless the
// kustomization has sortOptions.
const (
	ReorderUnspecified Reorder = ""
	ReorderLegacy      Reorder = "legacy"
	ReorderNone        Reorder = "none"
)

// Helm is what `kustomize build --enable-helm` and its neighbours set.
type Helm struct {
	Enabled     bool
	Command     string // "helm" where empty
	Path        string // where Command was found, absolute; "" lets kustomize look for it
	Missing     error  // why it was not found, where it was looked for
	APIVersions []string
	KubeVersion string
	Debug       bool
}

// Options are the choices that `kustomize build` offers too.
type Options struct {
	// Executable is krmcat itself, which kustomize calls for a Step.
	Executable string
	// LoadAnywhere turns the load restrictor off: files need not lie in or below the
	// kustomization.
	LoadAnywhere bool
	Reorder      Reorder
	ManagedBy    bool // --enable-managedby-label
	Helm         Helm
	TempDir      string // for the bridge's socket; the system's where empty
	// Refused is called with what a flag would permit that is not given. It is left out,
	// unread, and Load continues, so that all that is refused can be reported. Such a Target
	// must not be built. Where Refused is nil, Load fails.
	Refused func(error)
	// Warn is called with what a user should know of the files and kustomize does not say; may
	// be nil.
	Warn func(Warning)
}

// Warning is something in the files of a target that is accepted, but probably a mistake.
type Warning struct {
	Where string // file or file:line
	Msg   string
}
