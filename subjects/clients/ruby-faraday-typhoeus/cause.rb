# The name of an error: what Faraday's adapter of Typhoeus calls it.

# `Faraday.TimeoutError`, or the message of libcurl as one word, such as `CouldntResolveHostName`; nil when all is well.
# In parallel the adapter raises nothing, and leaves these notes.
def error_name(answer)
  return "Faraday.TimeoutError" if answer[:typhoeus_timed_out]
  return unless answer[:typhoeus_connection_failed]

  words = answer[:typhoeus_return_message].to_s.delete("'").scan(/[A-Za-z0-9]+/)
  words.empty? ? "Faraday.ConnectionFailed" : words.map { |word| word[0].upcase + word[1..] }.join
end
