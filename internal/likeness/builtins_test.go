package likeness

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// everything has resources that each builtin changes.
const everything = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
  annotations: {note: one}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      serviceAccountName: runner
      initContainers:
      - {name: init, image: "nginx:1.24"}
      containers:
      - name: web
        image: nginx:1.25
        env:
        - {name: MODE, value: plain}
        envFrom:
        - configMapRef: {name: conf}
        - secretRef: {name: creds}
      volumes:
      - name: c
        configMap: {name: conf}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: host, labelSelector: {matchLabels: {app: web}}}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: web
  selector: {matchLabels: {app: store}}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
      - {name: store, image: "redis@sha256:aaaa"}
  volumeClaimTemplates:
  - metadata: {name: data}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: tick
            image: busybox
            envFrom:
            - configMapRef: {name: conf}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: old}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: runs}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all}
subjects:
- {kind: ServiceAccount, name: runner, namespace: old}
- {kind: ServiceAccount, name: default, namespace: old}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - from:
    - podSelector: {matchLabels: {app: store}}
---
apiVersion: v1
kind: Namespace
metadata: {name: old}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: thing}
spec:
  path: a/b/c
  web: none
`

// builtinCase is a builtin, and the field of a Kustomization that does the same.
type builtinCase struct {
	name   string
	config string // config of the builtin
	field  string // field of a Kustomization; if empty, config is an entry of one of its lists
	files  string // an archive of further files
}

// builtinCases has a case of each kind without fieldSpecs, and one with fieldSpecs for each kind
// that has them.
func builtinCases() []builtinCase {
	const patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 7}\n"
	return []builtinCase{
		{"AnnotationsTransformer", "annotations: {note: two, more: \"1\"}", "commonAnnotations: {note: two, more: \"1\"}", ""},
		{"AnnotationsTransformer with fieldSpecs", "annotations: {note: two}\nfieldSpecs:\n- {path: spec/template/metadata/annotations, create: true, kind: Deployment}", "", ""},
		{
			"ConfigMapGenerator", "name: conf\nfiles: [a.txt, b=a.txt]\nenvs: [some.env]\nliterals: [x=y]",
			"configMapGenerator:\n- name: conf\n  files: [a.txt, b=a.txt]\n  envs: [some.env]\n  literals: [x=y]",
			"-- both/app/a.txt --\nhello\n-- both/app/some.env --\nA=1\n# no\nB=2\n",
		},
		{
			"ConfigMapGenerator with options",
			"name: conf\nnamespace: new\nenvs: [some.env]\noptions: {disableNameSuffixHash: true, labels: {a: b}, annotations: {c: d}, immutable: true}",
			"configMapGenerator:\n- name: conf\n  namespace: new\n  envs: [some.env]\n  options: {disableNameSuffixHash: true, labels: {a: b}, annotations: {c: d}, immutable: true}",
			"-- both/app/some.env --\nA=1\n",
		},
		{"ConfigMapGenerator, env", "name: conf\nenv: some.env", "configMapGenerator: [{name: conf, env: some.env}]", "-- both/app/some.env --\nA=1\n"},
		{"SecretGenerator, env", "name: conf\nenv: some.env", "secretGenerator: [{name: conf, env: some.env}]", "-- both/app/some.env --\nA=1\n"},
		{"HashTransformer", "", "transformers: [hash.yaml]", "-- theirs/app/hash.yaml --\napiVersion: builtin\nkind: HashTransformer\nmetadata: {name: h}\n"},
		{
			"IAMPolicyGenerator", "cloud: gke\nkubernetesService: {name: k, namespace: n}\nserviceAccount: {name: s, projectId: p}",
			"generators: [iam.yaml]",
			"-- theirs/app/iam.yaml --\napiVersion: builtin\nkind: IAMPolicyGenerator\nmetadata: {name: i}\ncloud: gke\n" +
				"kubernetesService: {name: k, namespace: n}\nserviceAccount: {name: s, projectId: p}\n",
		},
		{"ImageTagTransformer", "imageTag: {name: nginx, newName: httpd, newTag: \"2\"}", "images: [{name: nginx, newName: httpd, newTag: \"2\"}]", ""},
		{"ImageTagTransformer, digest", "imageTag: {name: redis, digest: \"sha256:bb\"}", "images: [{name: redis, digest: \"sha256:bb\"}]", ""},
		{"ImageTagTransformer with fieldSpecs", "imageTag: {name: nginx, newTag: \"2\"}\nfieldSpecs: [{path: \"spec/template/spec/initContainers[]/image\"}]", "", ""},
		{"LabelTransformer", "labels: {app: all, team: t}", "commonLabels: {app: all, team: t}", ""},
		{"LabelTransformer with fieldSpecs", "labels: {team: t}\nfieldSpecs: [{path: metadata/labels, create: true}, {path: spec/selector, kind: Service}]", "", ""},
		{"NamespaceTransformer", "metadata: {name: n, namespace: new}", "namespace: new", ""},
		{
			"NamespaceTransformer with fieldSpecs",
			"metadata: {name: n, namespace: new}\nunsetOnly: true\nsetRoleBindingSubjects: allServiceAccounts\nfieldSpecs: [{path: metadata/name, kind: Namespace, create: true}]", "", "",
		},
		{
			"PatchJson6902Transformer", "target: {group: apps, version: v1, kind: Deployment, name: web}\npath: p.yaml",
			"patches:\n- target: {group: apps, version: v1, kind: Deployment, name: web}\n  path: p.yaml",
			"-- both/app/p.yaml --\n- {op: replace, path: /spec/replicas, value: 3}\n",
		},
		{
			"PatchJson6902Transformer, in line", "target: {kind: Deployment, name: web}\njsonOp: '[{\"op\": \"remove\", \"path\": \"/spec/replicas\"}]'",
			"patches:\n- target: {kind: Deployment, name: web}\n  patch: '[{\"op\": \"remove\", \"path\": \"/spec/replicas\"}]'", "",
		},
		{
			"PatchStrategicMergeTransformer", "paths: [p.yaml]", "patches: [{path: p.yaml}]", "-- both/app/p.yaml --\n" + patch,
		},
		{
			"PatchStrategicMergeTransformer, in line", "patches: |-\n  " + strings.ReplaceAll(strings.TrimSpace(patch), "\n", "\n  "),
			"patches:\n- patch: |-\n    " + strings.ReplaceAll(strings.TrimSpace(patch), "\n", "\n    "), "",
		},
		{
			"PatchStrategicMergeTransformer, delete", "paths:\n- |-\n  $patch: delete\n  apiVersion: v1\n  kind: Namespace\n  metadata: {name: old}",
			"patches:\n- patch: |-\n    $patch: delete\n    apiVersion: v1\n    kind: Namespace\n    metadata: {name: old}", "",
		},
		{
			"PatchTransformer", "path: p.yaml\ntarget: {labelSelector: app=web}", "patches: [{path: p.yaml, target: {labelSelector: app=web}}]",
			"-- both/app/p.yaml --\n" + patch,
		},
		{
			"PatchTransformer, in line", "patch: '[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"a\": \"b\"}}]'\ntarget: {kind: Service|Namespace}",
			"patches:\n- patch: '[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"a\": \"b\"}}]'\n  target: {kind: Service|Namespace}", "",
		},
		{
			"PatchTransformer, names and kinds", "patch: |-\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: other}\ntarget: {kind: Deployment}\noptions: {allowNameChange: true}",
			"patches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: other}\n  target: {kind: Deployment}\n  options: {allowNameChange: true}", "",
		},
		{"PrefixSuffixTransformer", "prefix: a-\nsuffix: -z", "namePrefix: a-\nnameSuffix: -z", ""},
		{"PrefixSuffixTransformer, prefix", "prefix: a-", "namePrefix: a-", ""},
		{"PrefixSuffixTransformer, suffix", "suffix: -z", "nameSuffix: -z", ""},
		{"PrefixSuffixTransformer with fieldSpecs", "prefix: a-\nsuffix: -z\nfieldSpecs: [{path: metadata/name, kind: Service}]", "", ""},
		{"PrefixTransformer", "prefix: a-", "namePrefix: a-", ""},
		{"PrefixTransformer with fieldSpecs", "prefix: a-\nfieldSpecs: [{path: metadata/name, kind: ServiceAccount}]", "", ""},
		{
			"ReplacementTransformer", "replacements:\n- source: {kind: Service, name: web}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.web]}]",
			"replacements:\n- source: {kind: Service, name: web}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.web]}]", "",
		},
		{
			"ReplacementTransformer, file", "replacements: [{path: r.yaml}]", "replacements: [{path: r.yaml}]",
			"-- both/app/r.yaml --\nsource: {kind: Thing, fieldPath: spec.path, options: {delimiter: /, index: 1}}\n" +
				"targets: [{select: {kind: Thing}, fieldPaths: [spec.new], options: {create: true}}]\n",
		},
		{"ReplicaCountTransformer", "replica: {name: web, count: 5}", "replicas: [{name: web, count: 5}]", ""},
		{"ReplicaCountTransformer with fieldSpecs", "replica: {name: store, count: 5}\nfieldSpecs: [{path: spec/copies, create: true, kind: StatefulSet}]", "", ""},
		{
			"SecretGenerator", "name: creds\ntype: example.com/x\nfiles: [a.txt]\nliterals: [x=y]",
			"secretGenerator:\n- name: creds\n  type: example.com/x\n  files: [a.txt]\n  literals: [x=y]", "-- both/app/a.txt --\nhello\n",
		},
		{"SuffixTransformer", "suffix: -z", "nameSuffix: -z", ""},
		{"SuffixTransformer with fieldSpecs", "suffix: -z\nfieldSpecs: [{path: metadata/name, kind: Service}]", "", ""},
		{"ValueAddTransformer", "value: x\ntargets:\n- {selector: {kind: Thing}, fieldPath: spec/path, filePathPosition: 2}", "", ""},
		{"ValueAddTransformer, file", "value: x\ntargetFilePath: t.yaml", "", "-- both/app/t.yaml --\ntargets:\n- {selector: {kind: Thing}, fieldPath: spec/web}\n"},
		// The builtin adds the name of the directory, unless its config has a value.
		{"ValueAddTransformer, name of the directory", "targets:\n- {selector: {kind: Thing}, fieldPath: spec/web}", "", ""},
	}
}

// TestBuiltinsLikeFields compares each builtin in a Composition with the field of a Kustomization
// that does the same, or with the builtin in one of the lists of a Kustomization.
func TestBuiltinsLikeFields(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	for _, c := range builtinCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind := strings.FieldsFunc(c.name, func(r rune) bool { return r == ' ' || r == ',' })[0]
			config := "apiVersion: builtin\nkind: " + kind + "\n"
			if !strings.Contains(c.config, "metadata:") {
				config += "metadata: {name: it}\n"
			}
			config += c.config
			field := c.field
			if field == "" {
				list := "transformers"
				if strings.HasSuffix(kind, "Generator") {
					list = "generators"
				}
				field = list + ":\n- |-\n  " + strings.ReplaceAll(config, "\n", "\n  ")
			}
			// The directories have the same name, because a builtin may use it.
			alike(t, k, txtar.Parse([]byte("flags: dir=app\n-- ours/app/composition.yaml --\nkind: Composition\ntransformers:\n"+
				"- kind: ResourceAccumulator\n  files: [all.yaml]\n- "+strings.ReplaceAll(config, "\n", "\n  ")+"\n"+
				"-- theirs/app/kustomization.yaml --\nresources: [all.yaml]\n"+field+"\n-- both/app/all.yaml --\n"+everything+c.files)))
		})
	}
}
