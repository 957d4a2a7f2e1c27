# Sends the query of a URL as it is: Faraday takes it apart, and escapes what it writes anew.

# A params_encoder of Faraday's: what it decodes is one parameter, the query itself.
module VerbatimQuery
  def self.decode(query)
    query.nil? ? {} : { query => nil }
  end

  def self.encode(parameters)
    parameters.keys.first
  end
end
