package quota

// words are the outcomes as metrics name them.
var words = map[Outcome]string{Granted: "granted", Refused: "refused", Waiting: "waiting", Unavailable: "unavailable"}
