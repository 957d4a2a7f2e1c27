# Sends the query of a URL as it is: Faraday would parse it, and escape it differently.

# A params_encoder for Faraday: it decodes a query into one parameter, the query itself.
module VerbatimQuery
  def self.decode(query)
    query.nil? ? {} : { query => nil }
  end

  def self.encode(parameters)
    parameters.keys.first
  end
end
