// Command pod-security checks the Pods of manifests as in a namespace that enforces the Pod Security
// Standard "restricted", by the rules that the API server has. It reads YAML documents from the files that are named,
// prints a line for each violation, and fails if there is one.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

func main() {
	violations := 0
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		fail(err)
	}
	for _, path := range os.Args[1:] {
		found, err := check(evaluator, path)
		if err != nil {
			fail(fmt.Errorf("%s: %w", path, err))
		}
		violations += found
	}
	if violations > 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pod-security:", err)
	os.Exit(2)
}

// object is what may have a Pod: one, or a template of one at the usual place.
type object struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		corev1.PodSpec `json:",inline"`
		Template       *corev1.PodTemplateSpec `json:"template"`
		JobTemplate    *struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

func check(evaluator policy.Evaluator, path string) (violations int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(file)); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return violations, nil
		}
		if err != nil {
			return violations, err
		}
		template, name, err := podOf(document)
		if err != nil {
			return violations, err
		}
		if template == nil {
			continue
		}
		level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		for _, result := range evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				fmt.Printf("%s: %s: %s: %s\n", path, name, result.ForbiddenReason, result.ForbiddenDetail)
				violations++
			}
		}
	}
}

// podOf returns the Pod that a document asks for, or nil.
func podOf(document []byte) (template *corev1.PodTemplateSpec, name string, err error) {
	// Only the kind first: other kinds have fields of the same names and other types.
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return nil, "", err
	}
	var o object
	switch kind.Kind {
	case "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob":
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, "", err
		}
	default:
		return nil, "", nil
	}
	name = o.Kind + " " + o.Metadata.Name
	switch {
	case o.Kind == "Pod":
		return &corev1.PodTemplateSpec{ObjectMeta: o.Metadata, Spec: o.Spec.PodSpec}, name, nil
	case o.Spec.Template != nil:
		return o.Spec.Template, name, nil
	case o.Spec.JobTemplate != nil:
		return &o.Spec.JobTemplate.Spec.Template, name, nil
	}
	return nil, name, fmt.Errorf("%s has no Pod", name)
}
