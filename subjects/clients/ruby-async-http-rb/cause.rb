# The name of an error: the name of its innermost cause in Ruby, OpenSSL or the system.

# Ruby has the text of a failed lookup, not its name. See gai_strerror(3).
LOOKUP_ERRORS = {
  "Name or service not known" => "EAI_NONAME",
  "No address associated with hostname" => "EAI_NODATA",
  "Temporary failure in name resolution" => "EAI_AGAIN",
  "Non-recoverable failure in name resolution" => "EAI_FAIL",
  "Servname not supported for ai_socktype" => "EAI_SERVICE"
}.freeze

# `ECONNREFUSED` and `EAI_NONAME` of the system, `CERTIFICATE_HAS_EXPIRED` of OpenSSL, else the class of the error, such
# as `HTTP.ConnectionError`.
def cause_name(error)
  error = error.cause while error.cause
  case error
  when SystemCallError then error.class.name.delete_prefix("Errno::")
  when SocketError then LOOKUP_ERRORS.find { |text, _| error.message.include?(text) }&.last || "SocketError"
  when OpenSSL::SSL::SSLError then tls_name(error.message)
  else error.class.name.gsub("::", ".")
  end
end

# OpenSSL's reason about a certificate, or about a received alert: the end of a message such as
# `SSL_connect returned=1 errno=0 state=error: certificate verify failed (certificate has expired)`.
def tls_name(message)
  message = message.gsub(/"[^"]*"/, "") # a name of the server's
  reason = message[/\(([^()]+)\)\z/, 1] || message[/: ([^:]+)\z/, 1] || message
  name = reason.upcase.gsub(/[^A-Z0-9]+/, "_").gsub(/\A[^A-Z]+|_+\z/, "")
  name.empty? ? "OpenSSL.SSL.SSLError" : name
end
