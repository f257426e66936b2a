package vcenter

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// allow executes a command, as a shell would.
func allow(t *testing.T, s *corev1.Secret, message string) {
	t.Helper()
	_, command, found := strings.Cut(message, "annotate secret vc-creds ")
	overwrites := "--overwrite --resource-version=" + s.ResourceVersion + " "
	if _, there := s.Annotations[v1alpha1.VCenterHostsAnnotation]; strings.HasPrefix(command, overwrites) != there {
		t.Fatalf("the command overwrites concurrent changes, or has no effect: %q", message)
	}
	key, value, ok := strings.Cut(strings.Trim(strings.TrimPrefix(command, overwrites), "'"), "=")
	if !found || !ok || key != v1alpha1.VCenterHostsAnnotation {
		t.Fatalf("no command in %q", message)
	}
	s.Annotations = map[string]string{key: value}
	s.ResourceVersion += "1"
}

func TestTheCommandOfOneVCenterLeavesOthersThatShareTheSecret(t *testing.T) {
	on := func(server string, s *corev1.Secret) (string, error) {
		vc := vcenterForTest()
		vc.Spec.Server = server
		if _, err := newConfig(vc, s); err != nil {
			return err.Error(), err
		}
		return "", nil
	}
	servers := []string{"https://vc-1.example.com", "https://10.0.0.7:8443", "https://vc-3.example.com", "https://127.0.0.1:1"}
	for _, first := range []string{"", "https://vc-1.example.com/sdk", "127.0.0.1:*"} {
		s := secret("username", "u", "password", "canary")
		if first != "" {
			s.Data["VC_HOST"] = []byte(first)
		}
		for _, server := range servers {
			if message, _ := on(server, s); message != "" {
				allow(t, s, message)
			}
		}
		for _, server := range servers {
			if message, err := on(server, s); err != nil || message != "" {
				t.Errorf("VC_HOST %q, after all commands, %s: %s", first, server, message)
			}
		}
		if got := strings.Count(s.Annotations[v1alpha1.VCenterHostsAnnotation], "vc-1.example.com"); got != 1 {
			t.Errorf("VC_HOST %q: %s", first, s.Annotations[v1alpha1.VCenterHostsAnnotation])
		}
	}
}

// A user who can write a VCenter chooses part of a command that an administrator copies into a shell.
func TestACommandIsOneWordForAShell(t *testing.T) {
	for server, want := range map[string]string{
		"https://$(id)":      "'vm.codeconnect.vmworld.com/vcenter-hosts=vc.example.com,$(id)'",
		"https://a;id":       "'vm.codeconnect.vmworld.com/vcenter-hosts=vc.example.com,a;id'",
		"https://a'$(id)'":   `'vm.codeconnect.vmworld.com/vcenter-hosts=vc.example.com,a'\''$(id)'\'''`,
		"https://vc.other:1": "vm.codeconnect.vmworld.com/vcenter-hosts=vc.example.com,vc.other:1",
	} {
		vc, s := vcenterForTest(), secret("username", "u", "password", "p")
		vc.Spec.Server = server
		s.ResourceVersion = "7"
		// A value that contains a password is no host, and is not shown.
		s.Annotations = map[string]string{v1alpha1.VCenterHostsAnnotation: "vc.example.com,https://u:canary@vc.example.com"}
		if _, err := newConfig(vc, s); err == nil || !strings.HasSuffix(err.Error(), " --overwrite --resource-version=7 "+want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", server, err)
		}
	}
	vc := vcenterForTest()
	vc.Spec.Server = "https://vc.example.com,listener.example.com"
	var invalid *configError
	if _, err := newConfig(vc, secret("username", "u", "password", "p")); !errors.As(err, &invalid) || invalid.reason != v1alpha1.ReasonInvalidConfiguration {
		t.Errorf("two hosts in one: %v", err)
	}
}

func TestTheCommandNamesTheHostThatItIsFor(t *testing.T) {
	for server, host := range map[string]string{
		"https://[fd00::1]":           "[fd00::1]",
		"[fd00::1]":                   "[fd00::1]",
		"https://[fd00::1]:443":       "[fd00::1]",
		"https://[fd00::1]:8443/sdk":  "[fd00::1]:8443",
		"https://10.0.0.7":            "10.0.0.7",
		"https://vc.example.com.:443": "vc.example.com.",
		"http://127.0.0.1":            "127.0.0.1:80",
		"http://127.0.0.1:443":        "127.0.0.1:443",
		"http://[::1]":                "[::1]:80",
	} {
		vc, s := vcenterForTest(), secret("username", "u", "password", "canary")
		vc.Spec.Server, vc.Spec.TLS = server, &v1alpha1.TLSConfig{InsecureSkipVerify: true}
		_, err := newConfig(vc, s)
		if err == nil {
			t.Fatalf("%s: the password is sent although no annotation names the host", server)
		}
		allow(t, s, err.Error())
		if got := s.Annotations[v1alpha1.VCenterHostsAnnotation]; got != host {
			t.Errorf("%s: the command names %s", server, got)
		}
		if _, err := newConfig(vc, s); err != nil {
			t.Errorf("%s, after the command: %v", server, err)
		}
	}
}
