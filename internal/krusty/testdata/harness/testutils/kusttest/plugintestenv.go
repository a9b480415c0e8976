// This file replaces the file of its name in kustomize's api module, for a test run. Plugins that
// are compiled, or that kustomize finds in its home, are not part of the run.

package kusttest_test

import (
	"testing"

	"sigs.k8s.io/kustomize/api/konfig"
)

// pluginTestEnv is an environment in which kustomize finds no plugin.
type pluginTestEnv struct{ t *testing.T }

func newPluginTestEnv(t *testing.T) *pluginTestEnv {
	t.Helper()
	return &pluginTestEnv{t}
}

func (x *pluginTestEnv) set() *pluginTestEnv {
	x.t.Helper()
	x.t.Setenv(konfig.KustomizePluginHomeEnv, x.t.TempDir())
	return x
}

func (x *pluginTestEnv) reset() {}

// prepareGoPlugin does nothing for the builtins, which are part of the programs.
func (x *pluginTestEnv) prepareGoPlugin(group, _, kind string) {
	x.t.Helper()
	if group != konfig.BuiltinPluginPackage {
		x.t.Skipf("%s is a plugin of the legacy kind", kind)
	}
}

func (x *pluginTestEnv) prepareExecPlugin(_, _, kind string) {
	x.t.Helper()
	x.t.Skipf("%s is a plugin of the legacy kind", kind)
}
