# The name of an error: what libcurl calls it.

# What Ethon, below Typhoeus, calls by the name of the next code: its list lacks number 60.
SHIFTED = { bad_content_encoding: "peer_failed_verification", ldap_invalid_url: "bad_content_encoding" }.freeze

# The return code, such as `couldnt_connect`.
def cause_name(response)
  SHIFTED.fetch(response.return_code, response.return_code.to_s)
end
