package fnconfig

import (
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// defaultFieldSpecs are the fields that a builtin changes if its config names none: those of the
// field of a Kustomization with the same meaning. kustomize does not export them, and applies them
// to these fields only. A test compares this table with kustomize's source.
func defaultFieldSpecs(kind string) []types.FieldSpec {
	switch kind {
	case "PrefixTransformer", "SuffixTransformer", "PrefixSuffixTransformer":
		return specs("metadata/name")
	case "NamespaceTransformer":
		return specs("metadata/name + Namespace",
			"spec/service/namespace + apiregistration.k8s.io//APIService",
			"spec/conversion/webhook/clientConfig/service/namespace - apiextensions.k8s.io//CustomResourceDefinition")
	case "ImageTagTransformer":
		return specs("spec/containers[]/image +", "spec/initContainers[]/image +", "spec/volumes[]/image/reference +",
			"spec/template/spec/containers[]/image +", "spec/template/spec/initContainers[]/image +",
			"spec/template/spec/volumes[]/image/reference +", "spec/jobTemplate/spec/template/spec/volumes[]/image/reference +")
	case "ReplicaCountTransformer":
		return specs("spec/replicas + Deployment", "spec/replicas + ReplicationController",
			"spec/replicas + ReplicaSet", "spec/replicas + StatefulSet")
	case "AnnotationsTransformer":
		return specs("metadata/annotations +",
			"spec/template/metadata/annotations + /v1/ReplicationController",
			"spec/template/metadata/annotations + Deployment", "spec/template/metadata/annotations + ReplicaSet",
			"spec/template/metadata/annotations + DaemonSet", "spec/template/metadata/annotations + StatefulSet",
			"spec/template/metadata/annotations + batch//Job",
			"spec/jobTemplate/metadata/annotations + batch//CronJob",
			"spec/jobTemplate/spec/template/metadata/annotations + batch//CronJob")
	case "LabelTransformer":
		return labelFieldSpecs()
	}
	return nil
}

// labelFieldSpecs are those of commonLabels: labels and selectors.
func labelFieldSpecs() []types.FieldSpec {
	all := specs("metadata/labels +", "spec/template/metadata/labels + /v1/ReplicationController",
		"spec/template/metadata/labels + Deployment", "spec/template/metadata/labels + ReplicaSet",
		"spec/template/metadata/labels + DaemonSet", "spec/template/metadata/labels + apps//StatefulSet",
		"spec/template/metadata/labels + batch//Job", "spec/jobTemplate/metadata/labels + batch//CronJob",
		"spec/jobTemplate/spec/template/metadata/labels + batch//CronJob",
		"spec/volumeClaimTemplates[]/metadata/labels + apps//StatefulSet",
		"spec/selector + /v1/Service", "spec/selector + /v1/ReplicationController",
		"spec/selector/matchLabels + Deployment", "spec/selector/matchLabels + ReplicaSet",
		"spec/selector/matchLabels + DaemonSet", "spec/selector/matchLabels + apps//StatefulSet",
		"spec/selector/matchLabels - batch//Job", "spec/jobTemplate/spec/selector/matchLabels - batch//CronJob",
		"spec/selector/matchLabels - policy//PodDisruptionBudget",
		"spec/podSelector/matchLabels - networking.k8s.io//NetworkPolicy",
		"spec/ingress/from/podSelector/matchLabels - networking.k8s.io//NetworkPolicy",
		"spec/egress/to/podSelector/matchLabels - networking.k8s.io//NetworkPolicy")
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, affinity := range []string{"podAffinity", "podAntiAffinity"} {
			at := "spec/template/spec/affinity/" + affinity
			all = append(all, specs(
				at+"/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels - apps//"+kind,
				at+"/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels - apps//"+kind)...)
		}
		all = append(all, specs("spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels - apps//"+kind)...)
	}
	sort.Sort(types.FsSlice(all))
	return all
}

// specs parses field specs and sorts them as kustomize does. Each line is "path", "path +"
// (created if it is missing), and "path + kind" or "path - group/version/kind" (of these
// resources only).
func specs(lines ...string) []types.FieldSpec {
	var all []types.FieldSpec
	for _, line := range lines {
		words := strings.Fields(line)
		f := types.FieldSpec{Path: words[0], CreateIfNotPresent: len(words) > 1 && words[1] == "+"}
		if len(words) > 2 { //nolint:mnd // path, sign and what it is about
			gvk := strings.Split(words[2], "/")
			f.Kind = gvk[len(gvk)-1]
			if len(gvk) > 1 {
				f.Gvk = resid.Gvk{Group: gvk[0], Version: gvk[1], Kind: gvk[2]}
			}
		}
		all = append(all, f)
	}
	sort.Sort(types.FsSlice(all))
	return all
}
