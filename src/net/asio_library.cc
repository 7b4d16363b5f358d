// Asio and Beast, compiled once for the whole project (see CMakeLists.txt here).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
