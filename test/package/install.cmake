# Installs BUILD under STAGE as a packager would, into /opt/mla_prolog.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${STAGE})
set(ENV{DESTDIR} ${STAGE})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix /opt/mla_prolog COMMAND_ERROR_IS_FATAL ANY)
