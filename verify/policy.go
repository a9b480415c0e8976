package verify

import "context"

// Pinned trusts content by its digest: somebody who is trusted wrote it down, in the
// reference or as a catalog's sha256. Content without one is refused.
type Pinned struct {
	By string // who wrote it down: "catalog oci://…", "flag --trusted-catalog"
}

// Check implements Checker. That the digest fits has been seen to by Verify.
func (p Pinned) Check(_ context.Context, s Subject) (Evidence, error) {
	if !s.Pinned() {
		return Evidence{}, refuse(s, "neither a sha256 nor a digest is given for it")
	}
	d := s.Promised
	if d == "" {
		d = s.Artifact.From.Digest
	}
	return Evidence{Method: "pinned", Detail: d.String() + " by " + p.By}, nil
}

// WithoutDigest trusts content that a trusted party names but does not pin: the bytes
// are whatever its publisher serves today. The evidence carries a warning. Where a
// digest is given after all, it counts as Pinned.
type WithoutDigest struct {
	By string
}

// Check implements Checker.
func (w WithoutDigest) Check(ctx context.Context, s Subject) (Evidence, error) {
	if s.Pinned() {
		return Pinned(w).Check(ctx, s)
	}
	return Evidence{
		Method:  "named",
		Detail:  "by " + w.By,
		Warning: "no digest is given: whoever can change it decides what runs",
	}, nil
}

// UserFlag trusts content because the user said so on the command line. Nothing about
// the bytes is verified, and the evidence says that.
type UserFlag struct {
	Flag string
}

// Check implements Checker.
func (u UserFlag) Check(_ context.Context, s Subject) (Evidence, error) {
	e := Evidence{Method: "flag", Detail: "user's flag " + u.Flag}
	if !s.Pinned() {
		e.Detail += ", unverified"
	}
	return e, nil
}

// Policy is what is demanded of content before it may be used. The zero value is the
// default: what a trusted catalog names may run, exec functions only with a digest.
type Policy struct {
	RequireDigests bool // nothing runs that is not pinned
}

// Use says which kind of content a decision is about.
type Use int

// The uses.
const (
	UseCatalog Use = iota // a catalog the user trusts by flag
	UseScript             // runs inside this process, without reach: may go unpinned
	UseProgram            // runs on this machine: must be pinned
)

// Checkers returns who must say yes to content that by vouches for.
func (p Policy) Checkers(u Use, by string) []Checker {
	if p.RequireDigests || u == UseProgram {
		return []Checker{Pinned{By: by}}
	}
	return []Checker{WithoutDigest{By: by}}
}
