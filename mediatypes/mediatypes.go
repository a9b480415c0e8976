package mediatypes

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Role is what an artifact is to krmcat.
type Role string

// The roles. RoleUnknown is the zero value and asks for nothing in particular.
const (
	RoleUnknown    Role = ""
	RoleCatalog    Role = "catalog"
	RoleDefinition Role = "definition"
	RoleStarlark   Role = "starlark"
	RoleExec       Role = "exec"
	RoleContainer  Role = "container"
)

// Layer media types: KEP-2906, "OCI Artifacts". The exec row of the KEP repeats
// the Starlark type, a slip; krmcat writes ExecLayer and reads either where a
// catalog says exec.
const (
	CatalogLayer    = "application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml"
	DefinitionLayer = "application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml"
	StarlarkLayer   = "application/vnd.cncf.kubernetes.krm-func-runtime-starlark.layer.v1"
	ExecLayer       = "application/vnd.cncf.kubernetes.krm-func-runtime-exec.layer.v1"
)

// Artifact types, written to a manifest's artifactType.
const (
	CatalogArtifact    = "application/vnd.cncf.kubernetes.krm-func-catalog.v1"
	DefinitionArtifact = "application/vnd.cncf.kubernetes.krm-func-definition.v1"
	StarlarkArtifact   = "application/vnd.cncf.kubernetes.krm-func-runtime-starlark.v1"
	ExecArtifact       = "application/vnd.cncf.kubernetes.krm-func-runtime-exec.v1"
)

// unknownArtifact is what `oras push` writes when it is given no artifact type.
const unknownArtifact = "application/vnd.unknown.artifact.v1"

// NoArtifactType reports whether an artifactType stands for none: `oras push` writes one
// where it is given none.
func NoArtifactType(t string) bool { return t == "" || sameType(t, unknownArtifact) }

// names is one row of the contract.
type names struct{ layer, artifact string }

// namesOf gives the names of a role, empty ones where krmcat does not pack it.
func namesOf(r Role) names {
	switch r {
	case RoleCatalog:
		return names{CatalogLayer, CatalogArtifact}
	case RoleDefinition:
		return names{DefinitionLayer, DefinitionArtifact}
	case RoleStarlark:
		return names{StarlarkLayer, StarlarkArtifact}
	case RoleExec:
		return names{ExecLayer, ExecArtifact}
	case RoleUnknown, RoleContainer:
	}
	return names{}
}

// Layer returns the media type of a role's layers, or "" for a role that krmcat
// does not pack.
func (r Role) Layer() string { return namesOf(r).layer }

// Artifact returns the artifactType of a role's manifest, or "" for a role that
// krmcat does not pack.
func (r Role) Artifact() string { return namesOf(r).artifact }

// packed lists the roles that have names of their own.
func packed() []Role { return []Role{RoleCatalog, RoleDefinition, RoleStarlark, RoleExec} }

// RoleOf tells what an artifact is to krmcat: by its artifactType, else by its
// config, else by its first layer. What has a layer of another type, and the
// config of an image, is one. It reports false for a manifest that is none
// of krmcat's business.
func RoleOf(m ocispec.Manifest) (Role, bool) {
	if !NoArtifactType(m.ArtifactType) {
		if r, ok := RoleOfType(m.ArtifactType); ok {
			return r, true
		}
	}
	if r, ok := RoleOfType(m.Config.MediaType); ok {
		return r, true
	}
	// Before an image's config: oras writes one where it is to note a platform.
	if len(m.Layers) > 0 {
		for _, r := range packed() {
			if sameType(m.Layers[0].MediaType, r.Layer()) {
				return r, true
			}
		}
	}
	if isImageConfig(m.Config.MediaType) {
		return RoleContainer, true
	}
	return RoleUnknown, false
}

// RoleOfType tells what an artifactType says, of an index for example.
func RoleOfType(t string) (Role, bool) {
	for _, r := range packed() {
		if sameType(t, r.Artifact()) {
			return r, true
		}
	}
	return RoleUnknown, false
}

func isImageConfig(t string) bool {
	return t == ocispec.MediaTypeImageConfig || t == "application/vnd.docker.container.image.v1+json"
}

// sameType compares media types as RFC 2045 does: without regard to case, and
// without parameters.
func sameType(a, b string) bool {
	a, _, _ = strings.Cut(a, ";")
	return strings.EqualFold(strings.TrimSpace(a), b)
}
