package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// slowTag is the build tag of slow tests, and of the full size of other tests.
const slowTag = "slow"

// slowStory is a test that `make test` omits or runs only in part.
type slowStory struct {
	// part of `make test-slow` that runs it. Each part takes at most 15 minutes.
	part int
	// pkg is a package below test/, and test is the name of the test. A pkg that is a path from the root is a package of the product. There, everywhere
	// stands for the whole package with the race detector, and a name stands for a test that does more with tag slow.
	pkg, test string
	// seconds is its duration on two cores, without the start of the servers that the tests of a package share.
	seconds int
}

// product reports whether the package belongs to the product.
func (s slowStory) product() bool { return strings.Contains(s.pkg, "/") }

// startSeconds is the start time of the servers for the tests of a package.
const startSeconds = 30

// pickSeconds limits the duration of the tests that CI selects by the commit.
const pickSeconds = 240

// everywhere stands for all tests of a package, except those with their own row that are not run with it.
const everywhere = "."

// slowStories contains every test with build tag slow. A test of this package checks that.
var slowStories = []slowStory{
	{1, "failover", "TestFailoverAPausedReplicaFindsThatItWasReplacedBeforeItActs", 190},
	{1, "failover", "TestFailoverWhatChangesWhileNobodyOwnsAGroupIsDoneByTheNextOwner", 40},
	{1, "failover", "TestFailoverAReplicaWhoseWritesArriveUnansweredStopsAsWell", 45},
	{1, "failover", "TestFailoverWithoutAHubAllStopAndGoOnAsTheyWere", 80},
	{1, "failover", "TestFailoverStalledWatchesStealNothing", 85},
	{1, "failover", "TestFailoverASlowHubCostsNobodyAnything", 55},
	{1, "failover", "TestFailoverAReplicaThatHasLostItsBucketsReconcilesNothing", 65},
	{1, "failover", "TestFailoverAKilledReplicasGroupsAreOwnedAgainInTime", 40},
	{1, "failover", "TestFailoverAReplicaThatLosesTheHubStopsInTimeAndOthersGoOn", 70},
	{1, "failover", "TestFailoverAStoppedReplicaHandsOverWhatIsIdleAtOnceAndFinishesWhatIsNot", 30},
	{1, "failover", "TestFailoverAWrongPasswordOfThreeReplicasAndThreeVCentersLocksNothing", 165},
	{2, "failover", "TestFailoverACallThatLastsLongerThanTheRightToMakeItIsGivenUp", 90},
	{2, "failover", "TestFailoverAReplicaWithOtherBucketsStaysUnreadyAndDisturbsNobody", 40},
	{2, "failover", "TestFailoverDeletedLeasesAreMadeAnew", 35},
	{2, "failover", "TestFailoverADeletedRingIsRebuiltWithAHigherGeneration", 35},
	{2, "failover", "TestFailoverARestoredHubIsNoticed", 130},
	{2, "failover", "TestFailoverReplicasComeAndGoWhileGroupsDo", 80},
	{2, "failover", "TestFailoverReplicasThatComeAndGoLeaveNoGoroutineInTheOthers", 150},
	{2, "failover", "TestFailoverMembersThatComeAndGoLeaveNoGoroutine", 120},
	{2, "tenancy", "TestTwoThousandForgedGroupsHarmNobody", 150},
	{3, "crash", "TestASampleOfCrashPoints", 600},
	{3, "crash", "TestADeletionThatRacesClonesLeavesNothing", 60},
	{3, "crash", "TestRestartsLeaveOneSessionAndTheVMsAsTheyWere", 45},
	{3, "internal/controller/member", everywhere, 130},
	{4, "admission", "TestRotationOfEverythingUnderLoadFailsNoCall", 110},
	{4, "admission", "TestAMemberThatIsAwayDuringARotationIsWaitedForAndComesBackWorking", 80},
	{4, "admission", "TestHostileCallersDoNotKeepOthersWaiting", 30},
	{4, "admission", "TestNobodyReachesWhatIsMeantForOthers", 100},
	{4, "admission", "TestAMemberThatLeftIsUsable", 60},
	{4, "admission", "TestOneCommandDestroysNoVMOfAMember", 60},
	{4, "admission", everywhere, 370},
	{5, "integration", "TestARestoredHubGrantsNoMoreThanTheQuotas", 140},
	{5, "integration", "TestOutageOfVCenterMemberAndHubAtOnceEndsWithExactlyWhatWasAskedFor", 60},
	{5, "integration", "TestAMemberThatGoesSilentDelaysNobody", 40},
	{5, "integration", "TestARestartWhileTheLastVMsAreDestroyedRaisesNoAlarm", 25},
	{5, "integration", everywhere, 240},
	{5, "internal/admission", everywhere, 60},
	{5, "internal/sharding/death", everywhere, 20},
	{5, "internal/quota", everywhere, 5},
	{5, "internal/admitted", everywhere, 5},
	{5, "hack/demo", everywhere, 5},
	{5, "internal/webhook", everywhere, 5},
	{5, "internal/sharding/hub", everywhere, 5},
	{6, "integration", "TestRestoreOfAMemberStartsItsCachesAnewAndKeepsEveryVM", 170},
	{6, "integration", "TestRestoreOfAMemberWithARevisionBumpKeepsEveryVM", 110},
	{6, "integration", "TestAReferenceIsBelievedOnlyInTheVCenterThatItIsFrom", 40},
	{6, "integration", "TestACloneOfSomebodyElseThatHangsHoldsOnlyGroupsOfItsTemplate", 25},
	{6, "integration", "TestAMemberThatComesBackUnderAnyNameHasAllItsVMs", 105},
	{6, "integration", "TestALedgerFromABackupGrantsNoMoreThanTheQuota", 20},
	{6, "integration", "TestAHubThatIsLostForGoodIsReplacedByOneThatIsBuiltFromNothing", 90},
	{6, "integration", "TestRestoreOfTheHubEndsTheManagerAndKeepsEveryVM", 150},
	{6, "integration", "TestRestoreOfTheHubWithARevisionBumpKeepsEveryVM", 130},
	{8, "integration", "TestWhatAPersonDoesWhileTheStreamBreaksIsActedOnAndNoVMIsTooMany", 200},
	{7, "massdeletion", "TestFortyOfAHundredAndFiftyGroupsThatArePrunedAtOnceKeepTheirVMs", 110},
	{7, "massdeletion", "TestEverythingThatIsScaledToZeroKeepsItsVMs", 60},
	{7, "massdeletion", "TestTwentyOfAHundredAndFiftyGroupsGoUnasked", 25},
	{7, "massdeletion", "TestOneGroupOf500VMsGoesUnasked", 30},
	{7, "massdeletion", "TestAMemberOfTestsMayDeleteAllThatItMadeWithinTheHour", 25},
	{7, "tenancy", "TestAMemberThatShowsAGroupsUIDDoublesNoVMOfItWhenTheOperatorEnds", 45},
	{7, "rollout", "TestTwentyVMsAreReplacedWithNeverTooFewNorTooManyWhileTheirOwnersAreKilled", 65},
	{7, "rollout", "TestTwentyVMsGrowWithOneCallEachAndWithoutARestart", 5},
	{7, "rollout", "TestVMsThatShrinkAreRestartedOneByOne", 10},
	{7, "rollout", "TestATemplateThatNeverBootsStopsTheUpdateAndIsUndoneByTheOldSpec", 25},
	{7, "rollout", "TestAnUpdateNeverHasMoreVMsThanItsQuota", 60},
	{7, "rollout", "TestFiftyOutdatedVMsAreLeftAloneWhateverBecomesOfWhatIsKnownOfThem", 100},
	{7, "rollout", "TestAnEditWhileNoReplicaRunsReachesVMsOnceOneDoes", 30},
	{7, "rollout", "TestAnAutoscalerDrivesAGroupUpAndDownThroughAnUpdate", 75},
	{7, "rollout", "TestAnUpdateLeavesTheNumberToAnAutoscalerWithoutTolerance", 75},
	{8, "admission", "TestASegmentFromAnErrorTellsWhatItsMembersUsersKnowAndEndsWhileNoCallFails", 100},
	{8, "internal/vsphere/govmomi", "TestTheIndexAgreesWithVCenterWheneverItIsQuiet", 120},
	{8, "internal/vsphere/session", "TestAnswersAfterALoginAreWeighed", 20},
	{8, "tenancy", "TestAPIServersThatNeverEndAreNotReadyAndTheirVMsStay", 200},
	{8, "tenancy", "TestAMemberWithManyGroupsLeavesOthersTheirShare", 30},
	{8, "tenancy", "TestAWatchThatIsAFloodOfSmallEventsIsReadAtItsPaceAndTheMemberStays", 40},
	{9, "massdeletion", "TestVMsThatWereHeldForTheirCRDStayWhenTheOperatorInstallsItAgain", 120},
	{9, "massdeletion", "TestGroupsThatAreToBeForgottenKeepTheirVMsWhileTheirVCenterResponds", 60},
	{9, "massdeletion", "TestVMsStayWhenAnotherToolInstallsTheirCRDWhileNoReplicaRuns", 60},
	{9, "tenancy", "TestAHostileMemberWithOneGroupAndAnyAnnotationKeepsTheOperatorSmall", 110},
	{9, "tenancy", "TestTenThousandEditsOfPausedGroupsFillNoHubAndDelayNobody", 450},
	{10, "model", "TestRandomHistoriesForTenMinutes", 600},
	{10, "internal/plugin/cli", "TestAnInterruptedJoinIsCompletedOrUndoneByTheNext", 60},
	{10, "internal/plugin/cli", "TestATenantSeesAndChangesNothingOfAnother", 40},
	{11, "massdeletion", "TestTheCRDsOfTheHubDestroyNothing", 90},
	{11, "tenancy", "TestVCentersWhoseAnswersHaveNoEndKeepTheOperatorSmall", 150},
	{11, "integration", "TestAManagerThatEndsInTheMiddleOfClonesLeavesNoVMTooMany", 75},
	{11, "internal/check/vcenter", "TestAProbeThatIsKilledAtAnyCallLeavesNothing", 60},
	{11, "internal/vsphere/session", "TestAnswersAfterALoginAreWeighed", 20},
	{11, "internal/command", everywhere, 20},
	{11, "internal/plugin/cli", everywhere, 90},
	{11, "internal/server", everywhere, 20},
	{11, "failover", "TestFailoverSumsOverReplicasAreTheTruthAtRestAndAfterAKill", 60},
	{12, "faults", "TestASoakFiresNoAlert", 760},
	{13, "faults", "TestFaultsAreReported", 500},
	{13, "internal/controller/member", "TestTokensRenewThemselvesOnOneConnectionAndARevokedOneIsReported", 290},
	{13, "internal/controller/member", "TestRenewalContinuesAfterAnOutageOfTheMemberAndARestartOfAllReplicas", 40},
	{14, "hack/release", "TestTwoBuildsOfOneCommitAreEqual", 500},
}

// parts returns the number of the last part.
func parts() int {
	return slices.MaxFunc(slowStories, func(a, b slowStory) int { return cmp.Compare(a.part, b.part) }).part
}

// slowSteps returns the steps of all slow tests, or of one part.
func slowSteps(part int, args []string) []step {
	var steps []step
	for n := 1; n <= parts(); n++ {
		if part == 0 || part == n {
			chosen := slices.DeleteFunc(slices.Clone(slowStories), func(s slowStory) bool { return s.part != n })
			steps = append(steps, stepsOf(chosen, fmt.Sprintf("part %d of %d", n, parts()), args)...)
		}
	}
	if part == 0 || part == parts() {
		steps = append(steps, lastSteps(args)...)
	}
	return steps
}

// lastSteps are the random models in full length.
func lastSteps(args []string) []step {
	args = append([]string{"-count=1"}, args...)
	layers := moduleStep(layersModule, "policies as an API server judges them, at length", args)
	layers.binaryArgs = []string{"-layers.cases=100000"}
	return []step{
		layers,
		{label: "the random model of sharding, at length", packages: []string{"./internal/sharding/protocol"}, args: args, binaryArgs: []string{"-protocol.runs=5000"}},
		{label: "the random model of a world that goes back, at length", packages: []string{"./internal/controller/vmgroup"}, args: args,
			binaryArgs: []string{"-goesback.histories=10000", "-quota.histories=1000", "-returned.histories=500"}},
		{label: "updates after random histories, at length", packages: []string{"./internal/plan"}, args: args, binaryArgs: []string{"-plan.histories=100000"}},
	}
}

// pickedSteps returns some of the slow tests. Each commit gets a different selection, which is always the same for that commit.
func pickedSteps(commit string, args []string) []step {
	chosen := choose(slowStories, commit, pickSeconds)
	names := make([]string, 0, len(chosen))
	for _, s := range chosen {
		names = append(names, s.pkg+" "+s.test)
	}
	fmt.Printf("test: by commit %s these slow stories were chosen: %s; choose them again with: make test-slow PICK=%s\n",
		commit, strings.Join(names, ", "), commit)
	return stepsOf(chosen, "some slow stories", args)
}

// choose begins at a position that the hash selects, and takes the tests that fit into the time.
func choose(stories []slowStory, commit string, seconds int) []slowStory {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(commit))
	begin := int(hash.Sum32() % uint32(len(stories)))
	var chosen []slowStory
	started := map[string]bool{}
	for i := range stories {
		s := stories[(begin+i)%len(stories)]
		cost := s.seconds
		if !started[s.pkg] {
			cost += startSeconds
		}
		if cost <= seconds {
			chosen, seconds, started[s.pkg] = append(chosen, s), seconds-cost, true
		}
	}
	return chosen
}

// stepsOf runs the stories of each package together.
func stepsOf(stories []slowStory, label string, args []string) []step {
	var steps []step
	for len(stories) > 0 {
		pkg, product := stories[0].pkg, stories[0].product()
		var tests []string
		for _, s := range stories {
			if s.pkg == pkg {
				tests = append(tests, s.test)
			}
		}
		stories = slices.DeleteFunc(slices.Clone(stories), func(s slowStory) bool { return s.pkg == pkg })
		if product && !slices.Contains(tests, everywhere) {
			steps = append(steps, step{
				label: label + ": " + pkg, packages: []string{"./" + pkg}, tags: slowTag, args: append([]string{"-count=1", "-run=" + anyOf(tests)}, args...),
			})
			continue
		}
		if product {
			steps = append(steps, raceWithServers([]string{"./" + pkg}, append([]string{"-count=1"}, args...)))
			continue
		}
		which := "-run=" + anyOf(tests)
		if slices.Contains(tests, everywhere) {
			which = "-skip=" + anyOf(othersOf(pkg, tests))
		}
		steps = append(steps, step{
			label: label + ": " + pkg, packages: []string{"./test/" + pkg}, tags: slowTag, servers: true, raceManager: true,
			controllers: pkg == "rollout", // one of them tests an autoscaler
			args:        append([]string{"-count=1", which}, args...),
		})
	}
	return steps
}

// anyOf returns an expression for tests by name.
func anyOf(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// othersOf returns the tests of a package with their own row that are not in tests.
func othersOf(pkg string, tests []string) []string {
	var others []string
	for _, s := range slowStories {
		if s.pkg == pkg && s.test != everywhere && !slices.Contains(tests, s.test) {
			others = append(others, s.test)
		}
	}
	return others
}
