# The name of an error: its name in EventMachine, em-http-request or the system.

# Ruby has the text of a failed lookup, not its name. See gai_strerror(3).
LOOKUP_ERRORS = {
  "Name or service not known" => "EAI_NONAME",
  "No address associated with hostname" => "EAI_NODATA",
  "Temporary failure in name resolution" => "EAI_AGAIN",
  "Non-recoverable failure in name resolution" => "EAI_FAIL",
  "Servname not supported for ai_socktype" => "EAI_SERVICE"
}.freeze

# `ECONNREFUSED` and `EAI_NONAME` of the system, a message of em-http-request as one word (`ConnectionClosedByServer`),
# else the class of the error.
def cause_name(error)
  case error
  when Class then error.name.delete_prefix("Errno::").gsub("::", ".")
  when SystemCallError then error.class.name.delete_prefix("Errno::")
  when SocketError then LOOKUP_ERRORS.find { |text, _| error.message.include?(text) }&.last || "SocketError"
  when Exception then error.class.name.gsub("::", ".")
  else word(error.to_s)
  end
end

def word(text)
  name = text.scan(/[A-Za-z]+/).map { |part| part[0].upcase + part[1..] }.join
  name.empty? ? "HttpClientError" : name
end
