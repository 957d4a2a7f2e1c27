# The name of an error: curb's name of it.

# The class of the error, such as `Curl.Err.ConnectionFailedError`: curb has one for each condition of libcurl.
def cause_name(error)
  error.class.name.gsub("::", ".")
end
