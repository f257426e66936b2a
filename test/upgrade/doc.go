// Package upgrade updates the operator from the version of any commit to the one in the tree, rolls it back and updates it again, with
// replicas of both versions side by side, while 56 groups in two members have VMs. No VM may notice of which nobody asked anything, no two replicas may act on one group,
// and a quota holds for what all replicas grant together. VMs follow an edit, or their group says how to make them: none follows one that only a version saw which
// knows nothing of that. The story needs the commit, so it has the build tag upgrade and a target of its own:
//
//	make test-upgrade FROM=<commit or tag>
//
// Until there is a release, FROM is HEAD: development versions before that need not run beside the tree (docs/adr/0095).
package upgrade
