// Command web runs in the Pods of the tests. It answers /who with the name of its Pod, and /call?url= with the
// response of that address.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	// The name of this run, written as by programs that must prove their death.
	if err := os.WriteFile("/dev/termination-log", []byte(os.Getenv("POD")), 0); err != nil {
		fmt.Println(err)
	}
	http.HandleFunc("/who", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, os.Getenv("POD")) })
	http.HandleFunc("/call", func(w http.ResponseWriter, r *http.Request) {
		response, err := (&http.Client{Timeout: 25 * time.Second}).Get(r.FormValue("url"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		_, _ = io.Copy(w, response.Body)
	})
	fmt.Println("serving")
	fmt.Println(http.ListenAndServe(":8080", nil))
	os.Exit(1)
}
