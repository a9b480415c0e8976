package rewrite

import (
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
)

// runs is the Steps of a target, and the runs by which kustomize calls them.
type runs struct {
	steps []fnconfig.Step
	list  []*Run // by the number that kustomize knows it under
}

// Run is some Steps that are one plugin to kustomize.
type Run struct {
	Steps []int // indexes of Compiled.Steps
	// As makes the Steps one pipeline that generates or validates. Empty: each by its own role.
	As fnconfig.Role
}

// at gives a run by the number that kustomize knows it under, nil for none.
func (rs *runs) at(n bridge.Run) *Run {
	if n < 0 || int(n) >= len(rs.list) {
		return nil
	}
	return rs.list[n]
}

// step plans a Step of a run.
func (rs *runs) step(r *Run, s fnconfig.Step) {
	r.Steps = append(r.Steps, len(rs.steps))
	rs.steps = append(rs.steps, s)
}

// add plans a run, and gives the config for it.
func (rs *runs) add(r *Run) string {
	rs.list = append(rs.list, r)
	return bridge.StepConfig(bridge.Run(len(rs.list) - 1))
}
