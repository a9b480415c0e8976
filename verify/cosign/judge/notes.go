package judge

import (
	"fmt"
	"strings"
)

// Notes returns what readers of a policy should know of the demand: checks that are turned off, and
// expressions without ^ and $.
func (j *judge) Notes() []string {
	var out []string
	for _, off := range []struct {
		is         bool
		name, what string
	}{
		{j.demand.InsecureIgnoreTlog, "insecureIgnoreTlog", "no transparency log is asked for signatures"},
		{j.demand.InsecureIgnoreSCT, "insecureIgnoreSCT", "no certificate transparency log is asked for certificates"},
		{j.demand.InsecureIgnoreTimestamp, "insecureIgnoreTimestamp", "a certificate counts if it is valid now, whenever it was used"},
	} {
		if off.is {
			out = append(out, off.name+": "+off.what)
		}
	}
	loose := func(name, re string) {
		if re != "" && (!strings.HasPrefix(re, "^") || !strings.HasSuffix(re, "$")) {
			out = append(out, fmt.Sprintf("%s %s has no ^ and $: it is taken to match all of the value, where cosign takes a part", name, clean(re, maxWords)))
		}
	}
	for _, id := range j.demand.Identities {
		loose("subject"+regExp, id.SubjectRegExp)
		loose("issuer"+regExp, id.IssuerRegExp)
		for _, field := range sorted(id.Extensions) {
			if strings.HasSuffix(field, regExp) {
				loose(field, id.Extensions[field])
			}
		}
	}
	return out
}
