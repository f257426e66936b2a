package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// OpenShift checks that the default SecurityContextConstraints of OpenShift ("restricted-v2") accept every Pod, if the cluster serves their API.
func OpenShift(ctx context.Context, root string, _ []string) error {
	return eachSet(root, func(set string) error {
		out, err := template(ctx, filepath.Join(root, folder), "--api-versions", "security.openshift.io/v1", "--values", set)
		if err != nil {
			return err
		}
		pods, err := podsOf(out)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return errors.New("no Pod")
		}
		var problems []error
		for name, pod := range pods {
			if err := restrictedV2(pod); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
		return errors.Join(problems...)
	})
}

// podsOf returns the Pods in manifests, by kind and name of their object.
func podsOf(manifests []byte) (map[string]*corev1.PodSpec, error) {
	pods := map[string]*corev1.PodSpec{}
	for _, document := range bytes.Split(manifests, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			return nil, err
		}
		path := []string{"spec", "template", "spec"}
		switch o.GetKind() {
		case "Pod":
			path = []string{"spec"}
		case "CronJob":
			path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
		}
		spec, found, err := unstructured.NestedMap(o.Object, path...)
		if err != nil || !found || spec["containers"] == nil {
			continue // another kind
		}
		pod := &corev1.PodSpec{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, pod); err != nil {
			return nil, err
		}
		pods[o.GetKind()+" "+o.GetName()] = pod
	}
	return pods, nil
}

// restrictedV2 checks the rules of OpenShift's default SecurityContextConstraints. User and fsGroup must be in the range of the namespace, which is not
// known in advance. So a Pod must not set them.
func restrictedV2(pod *corev1.PodSpec) error {
	var problems []error
	refuse := func(broken bool, why string) {
		if broken {
			problems = append(problems, errors.New(why))
		}
	}
	refuse(pod.HostNetwork || pod.HostPID || pod.HostIPC, "uses a namespace of the host")
	of := pod.SecurityContext
	refuse(of == nil || of.SeccompProfile == nil || of.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, "has no seccomp profile RuntimeDefault")
	refuse(of != nil && (of.RunAsUser != nil || of.FSGroup != nil || of.SELinuxOptions != nil), "names a user, an fsGroup or SELinux options")
	for _, volume := range pod.Volumes {
		v := volume.VolumeSource
		allowed := v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil || v.PersistentVolumeClaim != nil ||
			v.Projected != nil || v.Secret != nil
		refuse(!allowed, "has a volume of a kind that is not allowed: "+volume.Name)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		problems = append(problems, restrictedContainer(&c))
	}
	return errors.Join(problems...)
}

func restrictedContainer(c *corev1.Container) error {
	of := c.SecurityContext
	if of == nil || of.Capabilities == nil || !slices.Equal(of.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(of.Capabilities.Add) > 0 {
		return errors.New(c.Name + " does not drop all capabilities")
	}
	switch {
	case of.RunAsUser != nil || of.SELinuxOptions != nil:
		return errors.New(c.Name + " names a user or SELinux options")
	case of.AllowPrivilegeEscalation == nil || *of.AllowPrivilegeEscalation, of.Privileged != nil && *of.Privileged:
		return errors.New(c.Name + " may gain privileges")
	case slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }):
		return errors.New(c.Name + " takes a port of the host")
	}
	return nil
}
