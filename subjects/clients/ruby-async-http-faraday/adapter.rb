# Faraday's adapter of async-http, like that of the gem async-http-faraday, for which there is no Debian package.

class AsyncHTTPAdapter < Faraday::Adapter
  TIMEOUTS = [Errno::ETIMEDOUT, Async::TimeoutError].freeze
  FAILURES = [SocketError, IOError, SystemCallError].freeze

  def initialize(app, keepalive: true, http_version: nil)
    super(app)
    @clients = Clients.new(keepalive: keepalive, http_version: http_version)
  end

  def call(env)
    super
    @clients.open(env.url) do |client, path|
      response = client.call(request(env, path))
      content = response.read || ""
      # A stream of HTTP/2 that ends before its head came has no status.
      raise EOFError unless response.status

      save_response(env, response.status, content, response.headers)
    ensure
      response&.close
    end
    @app.call(env)
  rescue *TIMEOUTS => e
    raise Faraday::TimeoutError, e
  rescue OpenSSL::SSL::SSLError => e
    raise Faraday::SSLError, e
  rescue *FAILURES => e
    raise Faraday::ConnectionFailed, e
  end

  private

  def request(env, path)
    method = env.method.to_s.upcase
    headers = Protocol::HTTP::Headers[env.request_headers.transform_keys(&:downcase).to_a]
    Protocol::HTTP::Request.new(nil, nil, method, path, nil, headers, Protocol::HTTP::Body::Buffered.wrap(env.body))
  end
end
