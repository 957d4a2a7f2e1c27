module go-resty

go 1.23.0

require resty.dev/v3 v3.0.0-rc.4

require golang.org/x/net v0.43.0 // indirect
