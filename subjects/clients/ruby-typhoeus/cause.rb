# The name of an error: libcurl's name of it.

# A code to which Ethon, below Typhoeus, gives the name of the next one: its list lacks number 60.
SHIFTED = { bad_content_encoding: "peer_failed_verification", ldap_invalid_url: "bad_content_encoding" }.freeze

# A code beyond the end of its list; Typhoeus returns the number.
UNLISTED = { 92 => "http2_stream", 95 => "http3", 96 => "quic_connect_error" }.freeze

# The return code, such as `couldnt_connect`.
def cause_name(response)
  code = response.return_code
  return UNLISTED.fetch(code) { "curl_error_#{code}" } if code.is_a?(Integer)

  SHIFTED.fetch(code, code.to_s)
end
