package rewrite

// This file contains all knowledge about the text of kustomize's messages. There is no typed way:
// the types of its errors are internal (api/internal/kusterr), an error that it wraps has the
// directory only in its text, and the errors of Components are quoted as text, so that errors.As
// finds nothing in them. The text determines the position of an error, how it reads, and whether it
// is about a function.

// The phrases in which kustomize wraps an error below a directory. The first one quotes the error
// that it wraps.
const (
	inComponents = `^accumulating components: accumulateDirectory: (".*")$`
	inDirectory  = `^(?:accumulating resources: )?(?:accumulation err='[^\n]*? must resolve to a file': )?recursed (?:accumulation of|merging from) path '([^']*)': `
	triedBoth    = `(?s)^(?:accumulating resources: )?accumulation err='(.*)': must build at directory: .*: file is not directory$`
)

// failedPlugin matches the message that the config of a builtin cannot be read.
const failedPlugin = `^plugin (\w+)\.builtin\.\[noGrp\]/(\S+?)\.\S* fails configuration: (?s)(.*)`

// ofResources matches messages about resources that were read, before any builtin runs.
const ofResources = `^(accumulating|merging) resources from |may not add resource with an already registered id`

// goValue matches the name of a generator: its address in memory, or the result of its String.
const goValue = ` &\{(?:0x|step-)[^}]*\}: `

// fromStep matches the start of the message that a resource which a run of Steps generated cannot
// be added.
const fromStep = `merging from generator &\{step-`

// malformedYAML matches the message that a file is not valid YAML.
const malformedYAML = `MalformedYAMLError: yaml: (?:line (\d+): )?(.*) in File: ([^\n]*)`

// fromGenerator is the start of the message that a generated resource cannot be added.
const fromGenerator = "merging from generator: "

// goID matches the id of a resource in some messages: kustomize prints the Go value.
const goID = `(?:id )?resid\.ResId\{Gvk:resid\.Gvk\{Group:"([^"]*)", Version:"([^"]*)", Kind:"([^"]*)", isClusterScoped:(?:true|false)\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`
