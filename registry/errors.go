package registry

import "github.com/krmcat/krmcat/registry/internal/problem"

// The errors of this package. The Ref of each is the Display of a Locator, without the query of a
// URL.
type (
	// BlobError reports that a reference names a blob of a registry or a layout by its storage path.
	BlobError = problem.BlobError
	// NotFoundError reports that a place responded and does not have the content.
	NotFoundError = problem.NotFoundError
	// UnreachableError reports that a request got no response, or an error status.
	UnreachableError = problem.UnreachableError
	// LocalError reports an error of this machine's file system.
	LocalError = problem.LocalError
	// DigestError reports that content does not have the requested digest.
	DigestError = problem.DigestError
	// TooLargeError reports content larger than the limit.
	TooLargeError = problem.TooLargeError
	// TooManyError reports that a place lists more entries than the limit.
	TooManyError = problem.TooManyError
	// ConflictError reports that others write to a tag at the same time.
	ConflictError = problem.ConflictError
	// ManifestError reports a malformed manifest or index.
	ManifestError = problem.ManifestError
	// RoleError reports an artifact of another role than the wanted one.
	RoleError = problem.RoleError
	// PlatformError reports that an index has no manifest for a platform.
	PlatformError = problem.PlatformError
	// LoginFileError reports that a file of logins cannot be read.
	LoginFileError = problem.LoginFileError
	// TitleError reports that the name of a file is not safe to write to disk.
	TitleError = problem.TitleError
)
