// Package upgrade updates the operator from the version of any commit to the one in the tree, rolls it back and updates
// it again. Replicas of both versions run concurrently, and 56 groups in two members have VMs. No VM can change without
// a request, no two replicas can act on one group, and a quota holds for the sum of all replicas' grants. VMs follow an
// edit, or their group names the remedy: none follows an edit that only a version without updates saw. The story needs
// the commit, so it has the build tag upgrade and a separate target:
//
//	make test-upgrade FROM=<commit or tag>
//
// Until there is a release, FROM is HEAD: development versions before that need not run concurrently with the tree
// (docs/adr/0095).
package upgrade
