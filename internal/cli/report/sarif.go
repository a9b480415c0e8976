package report

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/krmcat/krmcat/fnexec"
)

// The objects of SARIF 2.1.0 that are written. Each function is a rule.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID     string          `json:"ruleId"`
		RuleIndex  int             `json:"ruleIndex"`
		Level      string          `json:"level"`
		Message    sarifText       `json:"message"`
		Locations  []sarifLocation `json:"locations,omitempty"`
		Properties map[string]any  `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// SARIF returns the report as SARIF 2.1.0. A call that failed for another reason than its results
// is a result of its own, where the function is declared.
func (r Run) SARIF() ([]byte, error) {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "krmcat", Version: r.Version, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{Successful: !r.Failed}},
		Results:     []sarifResult{},
	}
	if r.Problem != "" {
		run.Invocations[0].Notifications = []sarifNotification{{"error", sarifText{r.Problem}}}
	}
	rules := map[string]int{}
	for _, c := range r.Calls {
		id := cmp.Or(c.Name, c.Program, "function")
		index, known := rules[id]
		if !known {
			index = len(rules)
			rules[id] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifText{cmp.Or(strings.TrimSpace(c.Kind+" "+c.Program), id)}})
		}
		for _, one := range r.sarifResults(c) {
			one.RuleID, one.RuleIndex = id, index
			run.Results = append(run.Results, one)
		}
	}
	return encodeJSON(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func (r Run) sarifResults(c Call) []sarifResult {
	var out []sarifResult
	blamed := false
	for _, res := range c.Results {
		blamed = blamed || c.blames(res)
		loc := sarifLocation{Physical: physical(r.Lines.Of(res))}
		if name := subject(res.ResourceRef); name != "" {
			loc.Logical = []sarifLogical{{name, "resource"}}
		}
		one := sarifResult{Level: level(res), Message: sarifText{cmp.Or(res.Message, "(no message)")}, Properties: properties(res)}
		if loc.Physical != nil || loc.Logical != nil {
			one.Locations = []sarifLocation{loc}
		}
		out = append(out, one)
	}
	if c.Err != nil && !blamed {
		one := sarifResult{Level: "error", Message: sarifText{"the function failed: " + c.cause()}}
		file, line := position(c.Where)
		if at := physical(Position{file, line}); at != nil {
			one.Locations = []sarifLocation{{Physical: at}}
		}
		out = append(out, one)
	}
	return out
}

// level returns SARIF's word for a severity. One that nobody knows is an error.
func level(r fnexec.Result) string {
	switch r.Severity {
	case fnexec.SeverityInfo:
		return "note"
	case fnexec.SeverityWarning:
		return "warning"
	}
	return "error"
}

func physical(at Position) *sarifPhysical {
	if at.File == "" {
		return nil
	}
	p := &sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: at.File}).String()}}
	if at.Line > 0 {
		p.Region = &sarifRegion{at.Line}
	}
	return p
}

// properties returns what SARIF has no place for.
func properties(r fnexec.Result) map[string]any {
	p := map[string]any{"severity": r.Severity}
	if r.Field != nil {
		p["field"] = r.Field
	}
	if len(r.Tags) > 0 {
		p["resultTags"] = r.Tags // SARIF's own tags are a list
	}
	return p
}
