// Package enroll gives a hub access to a member, and takes it away: it creates the operator's identities in the member, requests their tokens, and
// writes Secret and MemberCluster on the hub. Each step can be repeated: a second run completes an interrupted one and changes nothing else. Tokens
// go from one API server to the other, and never to a disk.
package enroll
