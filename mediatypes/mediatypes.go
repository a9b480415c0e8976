package mediatypes

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Role is the kind of an artifact.
type Role string

// The roles. RoleUnknown is the zero value.
const (
	RoleUnknown    Role = ""
	RoleCatalog    Role = "catalog"
	RoleDefinition Role = "definition"
	RoleStarlark   Role = "starlark"
	RoleExec       Role = "exec"
	RoleContainer  Role = "container"
)

// Layer media types: KEP-2906, "OCI Artifacts". The exec row of the KEP repeats the Starlark type
// by mistake. krmcat writes ExecLayer and reads both where a catalog says exec.
const (
	CatalogLayer    = "application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml"
	DefinitionLayer = "application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml"
	StarlarkLayer   = "application/vnd.cncf.kubernetes.krm-func-runtime-starlark.layer.v1"
	ExecLayer       = "application/vnd.cncf.kubernetes.krm-func-runtime-exec.layer.v1"
)

// Artifact types: the artifactType of a manifest or index.
const (
	CatalogArtifact    = "application/vnd.cncf.kubernetes.krm-func-catalog.v1"
	DefinitionArtifact = "application/vnd.cncf.kubernetes.krm-func-definition.v1"
	StarlarkArtifact   = "application/vnd.cncf.kubernetes.krm-func-runtime-starlark.v1"
	ExecArtifact       = "application/vnd.cncf.kubernetes.krm-func-runtime-exec.v1"
)

// unknownArtifact is what `oras push` writes without an artifact type.
const unknownArtifact = "application/vnd.unknown.artifact.v1"

// NoArtifactType reports whether an artifactType has no meaning: it is empty, or the one that `oras
// push` writes by default.
func NoArtifactType(t string) bool { return t == "" || sameType(t, unknownArtifact) }

// names are the media types of a role.
type names struct{ layer, artifact string }

// namesOf returns the media types of a role, empty ones for a role that krmcat does not pack.
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

// packed returns the roles that krmcat packs.
func packed() []Role { return []Role{RoleCatalog, RoleDefinition, RoleStarlark, RoleExec} }

// RoleOf returns the role of a manifest, from its artifactType, or else its config, or else its
// first layer. A manifest with the config of an image and another first layer is a container image.
// It reports false for other manifests.
func RoleOf(m ocispec.Manifest) (Role, bool) {
	if !NoArtifactType(m.ArtifactType) {
		if r, ok := RoleOfType(m.ArtifactType); ok {
			return r, true
		}
	}
	if r, ok := RoleOfType(m.Config.MediaType); ok {
		return r, true
	}
	// This precedes the image config, which oras writes to record a platform.
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

// RoleOfType returns the role of an artifactType, for example that of an index, and reports whether
// it is known.
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

// sameType compares media types without case and parameters (RFC 2045).
func sameType(a, b string) bool {
	a, _, _ = strings.Cut(a, ";")
	return strings.EqualFold(strings.TrimSpace(a), b)
}
