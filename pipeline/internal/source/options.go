package source

// Reorder says how the resources are ordered at the end.
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
	Path        string // where Command was found, absolute; "" leaves looking for it to kustomize
	Missing     error  // why it was not found, where it was looked for
	APIVersions []string
	KubeVersion string
	Debug       bool
}

// Options are the choices that `kustomize build` offers too.
type Options struct {
	// Executable is krmcat itself, which kustomize calls back for a Step.
	Executable string
	// LoadAnywhere lifts the rule that files lie in or below the kustomization.
	LoadAnywhere bool
	Reorder      Reorder
	ManagedBy    bool // --enable-managedby-label
	Helm         Helm
	TempDir      string // for the bridge's socket; the system's where empty
	// Refused is told what a flag would permit and is not given: it is left out, unread, and Load
	// goes on, so that all that is refused can be told. Such a Target is not to be built. Where it
	// is nil, Load fails.
	Refused func(error)
	// Warn is told what a user should know of the files, and what kustomize does not say;
	// may be nil.
	Warn func(Warning)
}

// Warning is something in a target's files that is taken, and hardly meant.
type Warning struct {
	Where string // file or file:line
	Msg   string
}
