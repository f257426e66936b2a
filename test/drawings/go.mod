module github.com/codeconnect/vmgroup-operator/test/drawings

go 1.26.3

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/codeconnect/vmgroup-operator v0.0.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/gofrs/flock v0.13.0 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace github.com/codeconnect/vmgroup-operator => ../..
