package rewrite

// What is known of kustomize's messages is in this file. There is no typed way to it: the types of
// its errors are internal (api/internal/kusterr), what it wraps has the directory in its text alone,
// and the errors of Components are quoted as text, so that errors.As finds nothing behind them. Its
// words decide where an error is said to be, how it reads, and whether it is about a function.

// The phrases in which kustomize wraps what went wrong below a directory. The one that
// quotes what it wraps comes first.
const (
	inComponents = `^accumulating components: accumulateDirectory: (".*")$`
	inDirectory  = `^(?:accumulating resources: )?(?:accumulation err='[^\n]*? must resolve to a file': )?recursed (?:accumulation of|merging from) path '([^']*)': `
	triedBoth    = `(?s)^(?:accumulating resources: )?accumulation err='(.*)': must build at directory: .*: file is not directory$`
)

// failedPlugin is how kustomize says that it cannot read the config of a builtin.
const failedPlugin = `^plugin (\w+)\.builtin\.\[noGrp\]/(\S+?)\.\S* fails configuration: (?s)(.*)`

// ofResources is how kustomize speaks of resources that it read, before any builtin runs.
const ofResources = `^(accumulating|merging) resources from |may not add resource with an already registered id`

// goValue is how kustomize names a generator: by its place in memory, or by what it says of itself.
const goValue = ` &\{(?:0x|step-)[^}]*\}: `

// fromStep begins what kustomize says of a resource of a run of Steps that it cannot add.
const fromStep = `merging from generator &\{step-`

// malformedYAML is how kustomize says that a file is not YAML.
const malformedYAML = `MalformedYAMLError: yaml: (?:line (\d+): )?(.*) in File: ([^\n]*)`

// fromGenerator begins what kustomize says of a resource of a generator that it cannot add.
const fromGenerator = "merging from generator: "

// goID is how kustomize names a resource in some messages: as a value of Go.
const goID = `(?:id )?resid\.ResId\{Gvk:resid\.Gvk\{Group:"([^"]*)", Version:"([^"]*)", Kind:"([^"]*)", isClusterScoped:(?:true|false)\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`
