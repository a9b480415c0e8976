package rewrite

import (
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
)

// runs is what kustomize calls back for.
type runs struct {
	steps []fnconfig.Step
	list  []Run          // the Steps of each Step config
	texts map[string]int // the config of each run
	split map[int]bool   // runs of which kustomize is told in two Steps
}

// Run is some Steps that kustomize sees as one.
type Run struct {
	Steps []int
	// as makes the Steps one pipeline, that generates or validates. Empty: each by its own
	// role.
	As fnconfig.Role
}

// between stands between the configs of a file, or of one entry of a list.
const between = "---\n"

// stepsOf gives what stands for a config in the end: for that of a run which is split, two
// Steps (orderError).
func (rs *runs) stepsOf(text string) string {
	if r, isRun := rs.texts[text]; isRun && rs.split[r] {
		return text + between + bridge.StepConfig(rs.second(r))
	}
	return text
}

// second is the number of the second Step of a run that is split.
func (rs *runs) second(r int) int { return len(rs.list) + r }

// secondOf tells the run of a second Step.
func (rs *runs) secondOf(n int) (r int, is bool) {
	r = n - rs.second(0)
	return r, r >= 0 && r < len(rs.list)
}

// runAt gives a run by the number that kustomize knows it under.
func (rs *runs) runAt(n int) (Run, bool) {
	if n < 0 || n >= len(rs.list) {
		return Run{}, false
	}
	return rs.list[n], true
}

// addRun plans a run, and gives the config for it.
func (rs *runs) addRun(r Run) string {
	text := bridge.StepConfig(len(rs.list))
	rs.texts[text] = len(rs.list)
	rs.list = append(rs.list, r)
	return text
}
