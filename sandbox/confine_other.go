//go:build !linux

package sandbox

import "context"

// newConfiner fails: processes are confined on Linux only.
func newConfiner(Engine, HostOptions) (confiner, error) { return nil, errNotLinux{} }

type errNotLinux struct{}

func (errNotLinux) Error() string { return "it needs Linux" }

// program is used on Linux only.
type program struct{}

func findProgram(string) *program { return nil }

func openProgram(string) *program { return nil }

func (o HostOptions) whole() (HostOptions, bool) { return o, false }

func (*program) runs(context.Context) bool { return false }

// group is used on Linux only.
type group struct{}

func findGroups() []string { return nil }

func newGroup([]string, Limits) (*group, error) { return nil, errNotLinux{} }

func landlockVersion() int { return 0 }

func forbidden(err error) *NamespaceError { return &NamespaceError{Err: err} }

func givenUser(uid, gid int) (isUID, isGID int, why string) { return uid, gid, "" }

func explained(_ job, err error) error { return err }

func keepsRoot(Engine) bool { return false }

func (Grant) landlocked(context.Context, Cmd, Streams) (bool, error) { return false, nil }
