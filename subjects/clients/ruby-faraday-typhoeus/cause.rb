# The name of an error: its name in Faraday's adapter of Typhoeus.

# `Faraday.TimeoutError`, or the message of libcurl as one word, such as `CouldntResolveHostName`; nil without an error.
# In parallel the adapter raises no error, and sets these fields.
def error_name(answer)
  return "Faraday.TimeoutError" if answer[:typhoeus_timed_out]
  return unless answer[:typhoeus_connection_failed]

  words = answer[:typhoeus_return_message].to_s.delete("'").scan(/[A-Za-z0-9]+/)
  words.empty? ? "Faraday.ConnectionFailed" : words.map { |word| word[0].upcase + word[1..] }.join
end
