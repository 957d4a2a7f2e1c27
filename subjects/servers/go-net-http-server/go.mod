module go-net-http-server

go 1.22
