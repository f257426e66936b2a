package quota

// words are the outcomes as metrics have them.
var words = map[Outcome]string{Granted: "granted", Refused: "refused", Waiting: "waiting", Unavailable: "unavailable"}
