package main

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// testsIn returns the tests of the packages below test/, and of the product's packages with named stories, by the package name of the stories. It also returns the tests
// that are built only with the tag slow.
func testsIn(t *testing.T) (all, slowOnly map[string][]string) {
	t.Helper()
	files, err := filepath.Glob("../../test/*/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no tests: %v", err)
	}
	for _, s := range slowStories {
		if s.product() && s.test != everywhere {
			more, err := filepath.Glob("../../" + s.pkg + "/*_test.go")
			if err != nil || len(more) == 0 {
				t.Fatalf("found no tests of %s: %v", s.pkg, err)
			}
			files = append(files, more...)
		}
	}
	all, slowOnly = map[string][]string{}, map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../../"), "test/")
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(function.Name.Name, "Test") || function.Name.Name == "TestMain" {
				continue
			}
			all[pkg] = append(all[pkg], function.Name.Name)
			if needsSlow(t, file) {
				slowOnly[pkg] = append(slowOnly[pkg], function.Name.Name)
			}
		}
	}
	return all, slowOnly
}

func needsSlow(t *testing.T, file *ast.File) bool {
	t.Helper()
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if !constraint.IsGoBuild(comment.Text) {
				continue
			}
			expression, err := constraint.Parse(comment.Text)
			if err != nil {
				t.Fatal(err)
			}
			return !expression.Eval(func(tag string) bool { return tag != slowTag && tag != fastTag })
		}
	}
	return false
}

func TestEverySlowTestBelongsToAPartAndEveryRowNamesATest(t *testing.T) {
	all, slowOnly := testsIn(t)
	if len(slowOnly["failover"]) == 0 {
		t.Fatal("no test has the build tag slow: they are looked for in the wrong place")
	}
	for pkg, tests := range slowOnly {
		for _, test := range tests {
			if !slices.ContainsFunc(slowStories, func(s slowStory) bool { return s.pkg == pkg && s.test == test }) {
				t.Errorf("test/%s %s has the build tag %s but belongs to no part, so no job runs it", pkg, test, slowTag)
			}
		}
	}
	for _, s := range slowStories {
		if s.test != everywhere && !slices.Contains(all[s.pkg], s.test) {
			t.Errorf("there is no %s %s", s.pkg, s.test)
		}
	}
}

func TestNoPartTakesMoreThanAQuarterOfAnHour(t *testing.T) {
	for n := 1; n <= parts(); n++ {
		seconds := 0
		packages := map[string]bool{}
		for _, s := range slowStories {
			if s.part == n {
				seconds += s.seconds
				packages[s.pkg] = true
			}
		}
		if seconds += startSeconds * len(packages); seconds == 0 || seconds > 15*60 {
			t.Errorf("part %d takes %d s", n, seconds)
		}
	}
}

func TestACommitChoosesTheSameStoriesEveryTimeAndAllHaveTheirTurn(t *testing.T) {
	chosen := map[string]bool{}
	for i := range 500 {
		commit := fmt.Sprintf("%040x", i)
		first := choose(slowStories, commit, pickSeconds)
		if second := choose(slowStories, commit, pickSeconds); !slices.Equal(first, second) {
			t.Fatalf("commit %s: %v, then %v", commit, first, second)
		}
		seconds, packages := 0, map[string]bool{}
		for _, s := range first {
			chosen[s.pkg+" "+s.test] = true
			seconds += s.seconds
			packages[s.pkg] = true
		}
		if seconds += startSeconds * len(packages); len(first) == 0 || seconds > pickSeconds {
			t.Fatalf("commit %s: %d stories of %d s", commit, len(first), seconds)
		}
	}
	for _, s := range slowStories {
		if fits := s.seconds+startSeconds <= pickSeconds; fits != chosen[s.pkg+" "+s.test] {
			t.Errorf("%s %s fits: %v, chosen: %v", s.pkg, s.test, fits, !fits)
		}
	}
}

func TestWhatTheRaceDetectorLeavesOutAtEachChangeIsAStory(t *testing.T) {
	units, servers, err := raced(t.Context(), "", assets.Module+"/...")
	if err != nil || len(units) == 0 || len(servers) == 0 {
		t.Fatalf("%d and %d packages, %v", len(units), len(servers), err)
	}
	var stories []string
	for _, s := range slowStories {
		if s.product() && s.test == everywhere {
			stories = append(stories, assets.Module+"/"+s.pkg)
		}
	}
	slices.Sort(stories)
	if slices.Sort(servers); !slices.Equal(stories, servers) {
		t.Errorf("with servers are %v, in the slow stories %v", servers, stories)
	}
}
