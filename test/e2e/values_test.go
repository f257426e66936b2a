//go:build e2e

package e2e

import "fmt"

// nodePort is where members reach the webhooks, on the node's address.
const nodePort = 30443

// values of the release, as an administrator writes them.
func values(image, tag, node, vcenter string) string {
	return fmt.Sprintf(`
image: {repository: %s, tag: %q, pullPolicy: Never}
manager: {log: {level: debug}}
podDisruptionBudget: {enabled: true, maxUnavailable: 1}
metrics:
  readers: [{kind: ServiceAccount, name: reader, namespace: default}]
admission: {url: "https://%[3]s:%[4]d"}
webhook:
  externalIPs: [%[3]s]
  service: {type: NodePort, nodePort: %[4]d}
vcenter:
  enabled: true
  server: %[5]q
  spec:
    tls: {insecureSkipVerify: true}
    grants: [{memberClusters: ["*"], templates: ["*"]}]
  check: {enabled: true, args: [--settle=0]}
policy:
  enabled: true
  spec:
    limits: {cpu: {max: 4}, memory: {max: 8Gi}, replicas: {max: 10}}
    templates: {allow: ["vm-operator-*"]}
    quota: {vms: 100}
`, image, tag, node, nodePort, vcenter)
}
