package model

import (
	"strings"
	"testing"
	"time"
)

// found are histories that broke a rule once, shrunk.
var found = map[string]History{
	"an update finds its quota full": {
		Setup: Setup{Replicas: 3, Unavailable: "1", Quota: Quota{VMs: 3}}, Events: []Event{{10 * time.Minute, "template", 1}},
	},
	"an update finds its quota full, and no VM may be missing": {
		Setup: Setup{Replicas: 2, Quota: Quota{VMs: 2}}, Events: []Event{{10 * time.Minute, "template", 1}},
	},
	"an update finds room for one of two VMs": {
		Setup: Setup{Replicas: 4, Surge: "2", Unavailable: "1", Quota: Quota{VMs: 5}}, Events: []Event{{0, "template", 1}},
	},
	"an update is taken back to what is not granted any more": {
		Setup:  Setup{Replicas: 2, Surge: "2", Unavailable: "2", Quota: Quota{VMs: 3}},
		Events: []Event{{10 * time.Minute, "template", 2}, {30 * time.Second, "grant", 6}, {0, "template", 0}},
	},
	"the older template is deleted, and more VMs are wanted": {
		Setup: Setup{Replicas: 2}, Events: []Event{{10 * time.Minute, "template-goes", 6}, {0, "template-and-scale", 13}},
	},
	"the older template is deleted, and so is the only VM": {
		Setup: Setup{Replicas: 1}, Events: []Event{{10 * time.Minute, "template-goes", 6}, {0, "lose", 0}, {time.Minute, "template", 1}},
	},
	"a paused group with an update is scaled to 0": {
		Setup: Setup{Replicas: 1, Old: true}, Events: []Event{{10 * time.Minute, "pause", 1}, {0, "template", 1}, {0, "scale", 0}},
	},
	"an update is taken back while a VM that it added boots": {
		Setup:  Setup{Replicas: 2, Gate: "GuestHeartbeat", Startup: 300},
		Events: []Event{{10 * time.Minute, "template", 3}, {time.Minute, "sick", 13}, {time.Minute, "template", 0}},
	},
	"a quota refuses a group that has no minimum": {
		Setup: Setup{Replicas: 2, Unavailable: "1", Surge: "0", Quota: Quota{VMs: 3}, Others: 1}, Events: []Event{{0, "template", 1}},
	},
	"guests get sick while an update is paused": {
		Setup:  Setup{Replicas: 2, Gate: "GuestHeartbeat"},
		Events: []Event{{10 * time.Minute, "template", 1}, {25 * time.Second, "pause-update", 1}, {5 * time.Minute, "sick", 9}, {0, "sick", 10}},
	},
	"a foreign VM has a name of the group's while policies are unread": {
		Setup: Setup{Replicas: 2}, Events: []Event{{0, "foreign-vm", 0}, {0, "template", 1}, {0, "policies-unread", 1}},
	},
	"a VM that was to leave stays, and its host was disconnected": {
		Setup: Setup{Replicas: 2, MinReady: 30},
		Events: []Event{
			{10 * time.Minute, "host", 0}, {time.Minute, "scale-by-one", 0}, {20 * time.Minute, "outage", 1}, {0, "hosts-back", 0}, {0, "template", 1}, {10 * time.Second, "outage", 0},
		},
	},
	"a guest takes its time to shut down for another size": {
		Setup: Setup{Replicas: 1}, Events: []Event{{time.Minute, "size", 0}, {24 * time.Second, "scale", 1}},
	},
	"the host goes while a guest shuts down": {
		Setup: Setup{Replicas: 1, Slow: true, Old: true}, Events: []Event{{10 * time.Minute, "scale", 0}, {22 * time.Second, "host", 0}},
	},
	"two VMs do not return from a restart": {
		Setup: Setup{Replicas: 2, Surge: "2", Unavailable: "1", Gate: "GuestIP"}, Events: []Event{{0, "template", 3}, {time.Minute, "size", 0}},
	},
	"status is lost during an update, and the quota is full": {
		Setup: Setup{Replicas: 4, Surge: "50%", Unavailable: "50%", Quota: Quota{VMs: 4}}, Events: []Event{{time.Minute, "template", 1}, {0, "wipe-status", 0}},
	},
	"an update releases a VM, and the quota is full": {
		Setup:  Setup{Replicas: 2, Surge: "0", Unavailable: "1", Quota: Quota{VMs: 3}, Others: 1},
		Events: []Event{{time.Minute, "user-data", 1}, {0, "retain", 0}},
	},
	"an update releases VMs while another is out of sight": {
		Setup:  Setup{Replicas: 4, Surge: "50%", Unavailable: "50%", Quota: Quota{VMs: 4}},
		Events: []Event{{time.Minute, "template", 1}, {0, "retain", 0}, {0, "hide", 0}},
	},
	"a VM is out of sight while others are released": {
		Setup: Setup{Replicas: 2, Retain: true, Quota: Quota{VMs: 6}, Others: 1}, Events: []Event{{30 * time.Second, "hide", 0}, {0, "scale", 0}},
	},
	"a VM that leaves is moved away": {
		Setup: Setup{Replicas: 1, Quota: Quota{VMs: 2, CPUs: 4}}, Events: []Event{{10 * time.Second, "scale", 0}, {10 * time.Second, "move-away", 0}, {0, "scale", 1}},
	},
	"a VM is being cloned while spec gets smaller": {
		Setup: Setup{Replicas: 1, Quota: Quota{VMs: 3, CPUs: 6}}, Events: []Event{{0, "size-and-scale", 0}},
	},
	"a VM of a group whose template was denied is lost while one that it released counts": {
		Setup: Setup{Replicas: 3, Retain: true, Quota: Quota{VMs: 5}}, Events: []Event{{0, "scale", 2}, {0, "deny", 6}, {time.Minute, "lose", 0}},
	},
	"a VM that was released is out of sight": {
		Setup: Setup{Replicas: 1}, Events: []Event{{30 * time.Second, "retain", 0}, {0, "scale", 0}, {0, "hide", 0}},
	},
	"a VM goes out of sight while the deletion of its group releases it": {
		Setup: Setup{Replicas: 1, Retain: true}, Events: []Event{{time.Minute, "delete", 0}, {0, "hide", 0}}, End: Deleted,
	},
	"a VM whose host is disconnected goes out of sight": {
		Setup: Setup{Replicas: 1}, Events: []Event{{42 * time.Second, "host", 0}, {0, "hide", 0}},
	},
	"a removal is held after an update has marked the VMs": {
		Setup: Setup{Replicas: 2, Old: true, Surge: "0", Unavailable: "1"}, Events: []Event{{0, "scale-by-one", 0}, {10 * time.Second, "template", 1}, {10 * time.Second, "mass-deletion", 1}},
	},
	"the guest of a VM out of sight gets sick": {
		Setup: Setup{Replicas: 1, Gate: "GuestHeartbeat", MinReady: 30}, Events: []Event{{time.Minute, "hide", 0}, {0, "template", 1}, {0, "size-and-scale", 1071}, {0, "sick", 13}},
	},
	"an update begins while the only VM is out of sight": {
		Setup: Setup{Replicas: 1}, Events: []Event{{time.Minute, "hide", 0}, {0, "template", 1}},
	},
	"a VM is lost while one that was released is out of sight": {
		Setup:  Setup{Replicas: 3},
		Events: []Event{{0, "retain", 0}, {28 * time.Second, "scale-by-one", 0}, {0, "hide", 2}, {0, "lose", 0}},
	},
	"a group is paused while a guest shuts down": {
		Setup: Setup{Replicas: 1}, Events: []Event{{time.Minute, "stubborn", 8}, {0, "scale", 0}, {5 * time.Second, "pause", 1}},
	},
	"status comes back from a backup while a VM is being released": {
		Setup: Setup{Replicas: 1, Retain: true}, Events: []Event{{time.Minute, "scale", 0}, {0, "restore", 490}},
	},
	"a quota begins while a VM is being cloned": {
		Setup: Setup{Replicas: 1}, Events: []Event{{time.Minute, "template", 1}, {0, "quota", 267}},
	},
	"an update waits for an adoption that is refused": {
		Setup: Setup{Replicas: 1}, Events: []Event{{0, "annotate-adopt", 3}, {0, "user-data", 1}},
	},
	"an update begins while four VMs leave": { // seed 1004269
		Setup: Setup{Replicas: 4, Quota: Quota{VMs: 7, CPUs: 13}, Others: 1}, Events: []Event{{0, "scale", 0}, {0, "size-and-scale", 1415}},
	},
	"a VM that another group left, of another size, is out of sight": { // seed 3001178
		Setup: Setup{Replicas: 1, Quota: Quota{VMs: 5, CPUs: 10}, Adopts: 2}, Events: []Event{{10 * time.Second, "size", 0}, {0, "move-away", 0}, {0, "scale", 3}},
	},
	"status is wiped while vCenter is unreachable, and the group is deleted": { // seed 1013674
		Setup: Setup{Replicas: 1}, Events: []Event{{0, "outage", 1}, {0, "wipe-status", 0}},
	},
	"a guest does not shut down, and more VMs are wanted by then": { // seed 1009976
		Setup: Setup{Replicas: 3, Gate: "GuestIP"}, Events: []Event{{time.Minute, "size", 0}, {0, "stubborn", 1597}, {4*time.Minute + 6*time.Second, "scale", 329}},
	},
	"a guest that was asked to shut down is on a host that goes and comes back": { // seed 1012263
		Setup:  Setup{Replicas: 1, Surge: "2", Unavailable: "2", Slow: true},
		Events: []Event{{10 * time.Minute, "size", 0}, {0, "host", 0}, {0, "scale", 3}, {time.Minute, "hosts-back", 0}},
	},
	"a guest that was asked to shut down and did not is to be replaced": { // seed 1012263
		Setup: Setup{Replicas: 1, Surge: "2", Unavailable: "2", Slow: true},
		Events: []Event{
			{10 * time.Minute, "size", 0}, {0, "host", 0}, {0, "template-and-scale", 1}, {0, "scale", 3}, {time.Minute, "hosts-back", 0}, {0, "size", 1},
		},
	},
	"status comes back from before a VM replaced one that was lost": { // seed 1027981
		Setup:  Setup{Replicas: 3, Surge: "2", Unavailable: "2", Gate: "GuestHeartbeat"},
		Events: []Event{{time.Minute, "lose", 0}, {10 * time.Second, "template", 3}, {time.Minute, "restore", 1}},
	},
	"status comes back from before a VM of an update replaced one that was lost": { // seed 1027981
		Setup:  Setup{Replicas: 4, Surge: "2", Unavailable: "2", Gate: "GuestHeartbeat"},
		Events: []Event{{time.Minute, "lose", 0}, {10 * time.Second, "template", 3}, {time.Minute, "restore", 1}},
	},
	"status comes back from before another VM got the name of one that was lost": { // seed 1054328
		Setup:  Setup{Replicas: 1},
		Events: []Event{{0, "template", 1}, {28 * time.Second, "lose", 0}, {5 * time.Second, "template-and-scale", 0}, {0, "scale", 1}, {time.Minute, "restore", 13}},
	},
	"an update failed as often as it may be tried, and the older template is deleted": { // seed 1013920
		Setup:  Setup{Replicas: 2, Gate: "GuestIP"},
		Events: []Event{{0, "max-failures", 1}, {0, "template-of-spec-goes", 0}, {time.Minute, "lose-all", 0}, {0, "template", 3}},
	},
	"a VM is being made larger while two edits ask for less and for another template": { // seed 1051531
		Setup:  Setup{Replicas: 1, Quota: Quota{VMs: 2, CPUs: 4}},
		Events: []Event{{0, "template", 5}, {time.Minute, "size", 3146}, {0, "size", 5}, {0, "template", 0}},
	},
	"a VM on a disconnected host is moved out of sight, and both come back": { // seed 1045118
		Setup: Setup{Replicas: 1, MinReady: 30}, Events: []Event{{time.Minute, "host", 0}, {0, "template", 1}, {0, "move-away", 0}, {time.Minute, "template", 0}},
	},
	"a VM is moved away while it is released": { // seed 1035995
		Setup: Setup{Replicas: 1, Retain: true, Quota: Quota{VMs: 5}}, Events: []Event{{time.Minute, "scale", 0}, {0, "move-away", 0}},
	},
	"another replica writes its name into a status that was wiped": { // seed 1946
		Setup: Setup{Replicas: 1, Adopts: 1}, Events: []Event{{10 * time.Second, "takeover", 0}, {0, "wipe-status", 0}},
	},
	"what replaces a lost VM is lost before it was seen": { // seed 2723
		Setup: Setup{Replicas: 1}, Events: []Event{{time.Minute, "lose-all", 0}, {3 * time.Second, "short-outage", 39}, {25 * time.Second, "lose-all", 0}},
	},
	"two VMs are lost while the template is denied and the quota is full": { // seed 3551
		Setup:  Setup{Replicas: 3, Quota: Quota{VMs: 4, CPUs: 8}},
		Events: []Event{{0, "retain", 0}, {0, "scale-by-one", 0}, {0, "deny", 6}, {time.Minute, "lose", 0}, {0, "lose", 0}},
	},
	"the group is powered off and on during an update, and a guest ignores that": { // seed 9006622
		Setup:  Setup{Replicas: 2, Slow: true},
		Events: []Event{{0, "template", 1}, {10 * time.Minute, "stubborn", 3021}, {0, "power", 0}, {0, "power", 1}},
	},
	"an update is taken back, and a guest ignores that it was to shut down": { // seed 9006622
		Setup:  Setup{Replicas: 2, Slow: true},
		Events: []Event{{0, "template", 1}, {20*time.Minute + 6*time.Second, "template", 0}, {0, "stubborn", 1510}, {time.Minute, "power", 0}, {0, "power", 1}},
	},
	"a scale-down takes a VM that spec lists, while an update is paused and a guest is sick": { // seed 1064300
		Setup:  Setup{Replicas: 3, Gate: "GuestIP"},
		Events: []Event{{0, "template", 1}, {48 * time.Second, "pause-update", 1}, {10 * time.Second, "sick", 2954}, {14 * time.Second, "delete-first-and-shrink", 0}},
	},
	"a scale-down takes a VM that spec lists, while an update is paused and two guests are sick": { // seed 1064387
		Setup: Setup{Replicas: 4, Surge: "1", Unavailable: "1", Gate: "GuestHeartbeat"},
		Events: []Event{
			{0, "template", 1}, {41 * time.Second, "pause-update", 1}, {0, "sick", 1973}, {0, "sick", 206}, {time.Minute, "delete-first-and-shrink", 0},
		},
	},
	"status is wiped while two VMs are being cloned, and spec asks for a smaller size": { // seed 62916
		Setup: Setup{Replicas: 2}, Events: []Event{{0, "size", 0}, {0, "wipe-status", 0}, {0, "quota", 2311}},
	},
	"status comes back from before a VM replaced another, and the group is deleted": { // seed 61554
		Setup:  Setup{Replicas: 1, Quota: Quota{VMs: 3}},
		Events: []Event{{time.Minute, "template", 1}, {time.Minute, "restore", 0}, {0, "replace-all", 0}, {time.Minute, "restore", 1630}},
	},
	"a VM is to be restarted, and its power-off fails": { // seed 100132
		Setup:  Setup{Replicas: 1, Surge: "1", Unavailable: "1"},
		Events: []Event{{0, "template", 1}, {time.Minute, "fail", 3522}, {0, "size", 0}, {10 * time.Second, "size", 0}},
	},
	"the CRD is being deleted, and a hub administrator lets removals pass": { // seed 146674
		Setup: Setup{Replicas: 1}, Events: []Event{{0, "crd", 0}, {0, "delete", 0}, {0, "confirm", 1}},
	},
	"a VM is moved out of sight, and its host goes and comes back": { // seed 1103966
		Setup: Setup{Replicas: 2, MinReady: 30}, Events: []Event{{0, "template", 1}, {time.Minute, "move-away", 0}, {0, "host", 0}},
	},
	"readiness gets a gate back by which the VMs of an update were not judged": { // seed 239110
		Setup: Setup{Replicas: 1, Gate: "GuestIP"}, Events: []Event{{time.Minute, "readiness", 1275}, {0, "template", 1}, {57 * time.Second, "readiness", 2201}},
	},
	"readiness gets a gate back a minute after an update began": { // seed 1117018
		Setup: Setup{Replicas: 1, Gate: "GuestHeartbeat"}, Events: []Event{{time.Minute, "template", 1}, {0, "readiness", 6}, {time.Minute, "readiness", 4}},
	},
	"spec lists a VM that a paused update added, and one whose guest is sick": { // seed 244409
		Setup: Setup{Replicas: 4, Surge: "2", Unavailable: "0", Gate: "GuestIP"},
		Events: []Event{
			{0, "template", 6}, {27 * time.Second, "pause-update", 1}, {21 * time.Second, "sick", 21}, {0, "sick", 2838}, {time.Minute, "delete-first", 7}, {0, "scale", 3369},
		},
	},
	"an update is taken back and asked for again, and its VM has had its time meanwhile": { // seed 194218
		Setup: Setup{Replicas: 1, Surge: "0", Unavailable: "1", Gate: "GuestHeartbeat"},
		Events: []Event{
			{0, "scale", 4}, {0, "quota-tight", 0}, {0, "delete-first-and-shrink", 0}, {0, "template", 3}, {0, "deny", 6}, {58 * time.Second, "undo", 0},
			{10 * time.Minute, "template", 3},
		},
	},
	"deletionPolicy is Retain for a second, and the quota is full": { // seed 165295
		Setup:  Setup{Replicas: 4, Surge: "2", Unavailable: "1", Quota: Quota{VMs: 4}},
		Events: []Event{{59 * time.Second, "template", 1}, {0, "retain", 0}, {time.Second, "retain", 1}},
	},
	"deletionPolicy is Retain for a second, and no more VM may be there": { // seed 216114
		Setup:  Setup{Replicas: 3, Surge: "0", Unavailable: "1", Quota: Quota{VMs: 3}},
		Events: []Event{{time.Minute, "template", 1}, {0, "retain", 0}, {time.Second, "retain", 5}},
	},
	"a quota ends while vCenter is unreachable, and an update waits for it": { // seed 1115248
		Setup:  Setup{Replicas: 1, Quota: Quota{VMs: 1, CPUs: 2}},
		Events: []Event{{10 * time.Second, "template", 1}, {10 * time.Second, "outage", 1}, {0, "quota", 0}},
	},
	"spec asks for more and larger VMs, and the quota has room for as many of the smaller size": { // seed 3109599
		Setup: Setup{Replicas: 1, Quota: Quota{VMs: 4, CPUs: 8}}, Events: []Event{{0, "size-and-scale", 2174}},
	},
	"two VMs are taken over while an update clones one": { // seed 9020888
		Setup:  Setup{Replicas: 1, Quota: Quota{VMs: 3, CPUs: 5}, Others: 1, Adopts: 3},
		Events: []Event{{10 * time.Second, "template", 1}, {0, "scale", 1648}},
	},
	"a VM is out of sight while an edit makes the others larger": { // seed 6104163
		Setup: Setup{Replicas: 2, Surge: "0", Unavailable: "1", Quota: Quota{VMs: 2, CPUs: 4}}, Events: []Event{{30 * time.Second, "hide", 0}, {0, "size", 2}, {0, "scale", 1}},
	},
	"smaller VMs are asked for, and a quota has no room for as many of the size that there is": { // seed 6094545
		Setup:  Setup{Replicas: 1, Quota: Quota{VMs: 6, CPUs: 11}, Others: 1},
		Events: []Event{{0, "size-and-scale", 6}, {time.Minute, "size-and-scale", 4}, {0, "template-and-scale", 2951}},
	},
	"a guest that did not shut down is about to be available again, and no other VM is": { // seed 6063032
		Setup: Setup{Replicas: 2, Surge: "0", Unavailable: "1", Gate: "GuestHeartbeat", MinReady: 30},
		Events: []Event{
			{time.Minute, "size", 0}, {0, "stubborn", 394}, {2*time.Minute + 31*time.Second, "template", 1}, {0, "sick", 3445},
		},
	},
	"status comes back from a backup that does not know of a clone that runs": { // seed 8113914
		Setup: Setup{Replicas: 3, Surge: "1", Unavailable: "1", MinReady: 30},
		Events: []Event{
			{30 * time.Second, "lose-all", 0}, {time.Minute, "template", 0}, {0, "template", 3}, {2 * time.Minute, "restore", 1977}, {0, "restore", 2016}, {0, "template", 1},
			{71 * time.Second, "restore", 2452},
		},
	},
	"a record comes back that has more than status, and the quota has room for no more": { // seed 8145503
		Setup: Setup{Replicas: 2}, Events: []Event{{0, "scale", 7}, {0, "quota-tight", 0}, {time.Minute, "undo", 0}, {0, "record-restored", 0}},
	},
	"spec gives a guest less time to shut down than when it was asked": { // seed 8146211
		Setup: Setup{Replicas: 2}, Events: []Event{{time.Minute, "stubborn", 2530}, {0, "power", 0}, {0, "power", 1}, {0, "shutdown", 0}, {0, "template", 1}},
	},
	"a guest was asked to shut down, has less time by now, and its VM was suspended": { // seed 9440979
		Setup: Setup{Replicas: 1}, Events: []Event{{time.Minute, "power", 0}, {0, "power", 1}, {0, "power-off", 2964}, {0, "shutdown", 0}, {53 * time.Second, "power-off", 0}},
	},
	"a guest was asked to shut down, and its VM is to be retained at once": { // seed 9442450
		Setup: Setup{Replicas: 1, Retain: true}, Events: []Event{{time.Minute, "power", 0}, {0, "scale", 0}, {0, "shutdown", 5}, {0, "shutdown", 0}},
	},
	"the host of a VM goes and comes back within a second": { // seed 9430772
		Setup:  Setup{Replicas: 3, Surge: "1", Unavailable: "1", MinReady: 30},
		Events: []Event{{10 * time.Second, "template", 1}, {45 * time.Second, "host", 0}, {0, "host", 3}, {0, "hosts-back", 0}},
	},
	"a status from a backup does not know of a clone that never boots": { // seed 9179844
		Setup: Setup{Replicas: 1, Gate: "GuestHeartbeat", MinReady: 30},
		Events: []Event{
			{time.Minute, "template", 1}, {58 * time.Second, "template-goes", 0}, {0, "template-goes", 0}, {time.Minute, "template", 3}, {0, "restore", 3451},
		},
	},
	"the record of a group is lost while an update waits": { // seed 10380145
		Setup:  Setup{Replicas: 3, Surge: "2", Unavailable: "2", Quota: Quota{VMs: 6, CPUs: 11}, Others: 1},
		Events: []Event{{time.Minute, "template", 1}, {0, "size", 2}, {0, "record-lost", 0}},
	},
	"a quota begins while VMs grow": { // seed 10177337
		Setup: Setup{Replicas: 3, Gate: "GuestHeartbeat"}, Events: []Event{{0, "template", 1}, {3 * time.Minute, "size", 6}, {0, "quota", 312}},
	},
	"two VMs boot while they are outside of the root folder": { // seed 10250728
		Setup:  Setup{Replicas: 2, Gate: "GuestHeartbeat", MinReady: 30},
		Events: []Event{{30 * time.Second, "move-away", 0}, {0, "move-away", 5}, {0, "network", 1}},
	},
	"two backups restore status, and the second knows a VM that was replaced after the first": { // seed 10258377
		Setup: Setup{Replicas: 2, Quota: Quota{VMs: 3, CPUs: 6}},
		Events: []Event{
			{time.Minute, "lose", 0}, {time.Minute, "template", 1}, {0, "power", 0}, {time.Minute, "restore", 1}, {time.Minute, "restore", 0},
		},
	},
	"status comes back from a backup while a VM is adopted, and is lost": { // seed 11177022
		Setup: Setup{Replicas: 1, Surge: "100%", Unavailable: "100%", Slow: true, Adopts: 3},
		Events: []Event{
			{0, "template", 1}, {26 * time.Second, "pause-update", 1}, {10 * time.Minute, "scale", 2}, {14 * time.Second, "restore", 0}, {10 * time.Second, "wipe-status", 0},
		},
	},
	"spec gets smaller while a larger VM is cloned and another one is released": { // seed 11870414
		Setup: Setup{Replicas: 1, Retain: true, Quota: Quota{VMs: 4, CPUs: 7}, Others: 1},
		Events: []Event{
			{0, "scale-by-one", 0}, {0, "outage", 1}, {49 * time.Second, "outage", 0}, {0, "size-and-scale", 3034}, {0, "size", 0},
		},
	},
	"the first VM of a new template gets sick before it is available": { // seed 11774883
		Setup: Setup{Replicas: 3, Gate: "GuestIP", MinReady: 30},
		Events: []Event{
			{time.Minute, "template-of-spec-goes", 0}, {0, "lose", 0}, {0, "template-and-scale", 647}, {time.Minute, "sick", 3482},
		},
	},
	"a restored status names a deleted VM whose successor it does not have": { // seed 12724970
		Setup: Setup{Replicas: 2, Quota: Quota{VMs: 2}},
		Events: []Event{
			{time.Minute, "lose", 0}, {6 * time.Second, "wipe-status", 0}, {18 * time.Second, "dies", 0}, {0, "budget", 3}, {0, "template", 1}, {0, "wipe-status", 0},
			{time.Minute, "restore", 0},
		},
	},
	"a VM goes missing while it is released, and status is lost twice": { // seed 13881591
		Setup: Setup{Replicas: 1, Retain: true, Quota: Quota{VMs: 5}, Others: 1},
		Events: []Event{
			{time.Minute, "edit-in-between", 0}, {0, "wipe-status", 0}, {0, "hide", 0}, {0, "wipe-status", 0},
		},
	},
	"a paused update may add no more VMs, and the one that it added is the only available one": { // seed 13429801
		Setup: Setup{Replicas: 1, Gate: "GuestHeartbeat"},
		Events: []Event{
			{0, "template", 6}, {0, "scale", 248}, {52 * time.Second, "pause-update", 1}, {0, "sick", 780}, {0, "sick", 154}, {time.Minute, "budget", 3692},
		},
	},
	"retained VMs take the quota of an update, and the template of the older revision is denied": { // seed 13418686
		Setup: Setup{Replicas: 3, Surge: "2", Unavailable: "2", Quota: Quota{VMs: 4}},
		Events: []Event{
			{time.Minute, "template", 1}, {0, "retain", 0}, {0, "deny", 6}, {time.Second, "lose", 0}, {0, "retain", 1},
		},
	},
	"a quota begins and the record is lost before a deletion is confirmed": { // seed 12936018
		Setup:  Setup{Replicas: 4},
		Events: []Event{{time.Minute, "template", 1}, {109 * time.Second, "quota", 557}, {0, "record-lost", 0}},
	},
	"a group is scaled to 0 and loses its status while the hub is unreachable": { // seed 12159748
		Setup:  Setup{Replicas: 1, Quota: Quota{VMs: 4, CPUs: 8}},
		Events: []Event{{0, "hub", 1}, {0, "scale", 0}, {0, "wipe-status", 0}, {time.Minute, "scale", 713}, {0, "hub", 0}},
	},
	"spec goes back to smaller VMs, and only an unproven revision needs the larger size": { // seed 12226874
		Setup:  Setup{Replicas: 3, Gate: "GuestHeartbeat", Quota: Quota{VMs: 6, CPUs: 11}, Others: 1},
		Events: []Event{{0, "size-and-scale", 7}, {time.Minute, "undo", 0}},
	},
	"VMs are wanted off and on again during an update": { // seed 12456824
		Setup: Setup{Replicas: 1, Surge: "50%", Unavailable: "50%", MinReady: 30},
		Events: []Event{
			{0, "scale", 5}, {42 * time.Second, "template", 1}, {0, "power", 0}, {0, "size-and-scale", 1943}, {0, "power", 1}, {0, "sick", 1464},
		},
	},
	"a guest did not shut down for another size, and spec asks for another network": { // seed 12492010
		Setup: Setup{Replicas: 1},
		Events: []Event{
			{time.Minute, "size-and-scale", 4}, {0, "stubborn", 683}, {time.Minute + 24*time.Second, "size-and-scale", 5}, {time.Minute + 42*time.Second, "scale", 3449}, {0, "network", 1},
		},
	},
	"an update removes two VMs whose guests do not shut down": { // seed 12312511
		Setup:  Setup{Replicas: 3, Gate: "GuestHeartbeat", MinReady: 30},
		Events: []Event{{time.Minute, "sick", 14}, {0, "shutdown", 1066}, {0, "template", 6}, {0, "sick", 456}},
	},
	"the host of the only VM of a new template goes, and no VM of the older one can be cloned": { // seed 11325169
		Setup: Setup{Replicas: 2, Gate: "GuestIP"},
		Events: []Event{
			{0, "template-of-spec-goes", 0}, {48 * time.Second, "lose", 0}, {0, "template-and-scale", 930}, {0, "template", 3}, {time.Minute, "host", 1},
		},
	},
}

func TestWhatWasFoundBefore(t *testing.T) {
	for story, h := range found {
		t.Run(story, func(t *testing.T) {
			for _, end := range []End{Healed, Deleted} {
				if h.End = end; end == Healed || !testing.Short() {
					if v, _ := Run(h, false); v != nil {
						_, log := Run(h, true)
						t.Fatalf("%s\n%s\n%s", v, h, strings.Join(log, "\n"))
					}
				}
			}
		})
	}
}
